/** Every response header that the API description names, and what it says. */
export const RESPONSE_HEADERS = {
  'Accept-Ranges': 'Parts of the file may be asked for: `bytes`.',
  'Access-Control-Allow-Origin': '`*`: scripts of every web page may read this.',
  'Cache-Control': 'Who may keep the answer, and for how long.',
  'Content-Range': 'Which bytes these are, of how many.',
  'Content-Security-Policy': 'Nothing in the body may run, load or be framed.',
  ETag: 'Names the content, for `If-None-Match`. Each content coding has its own.',
  'Last-Modified': 'The last change: a post, an edit, a deletion or new settings.',
  Location: 'The address of what was made, or where to go on.',
  'Retry-After': 'How many seconds to wait before trying again.',
  Vary: 'The answer depends on these request headers.',
  'WWW-Authenticate': 'How to send the password of the instance: `Bearer`.',
  'X-Accel-Buffering': '`no`: a proxy in front hands on what it gets at once.',
  'X-Content-Type-Options': '`nosniff`: the body is what Content-Type says.',
  'X-Request-Id': 'Names the request in the log of the service.',
} as const;

/** The name of a response header. */
export type ResponseHeader = keyof typeof RESPONSE_HEADERS;
