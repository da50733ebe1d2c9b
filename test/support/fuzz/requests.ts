/** Requests of every operation, and what is no request at all, made fast from values of fast-check. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { HOOK_KINDS } from '../../../src/hooks/kinds.ts';
import type { OperationParts } from '../../../src/routes/operation.ts';
import { operations } from '../../../src/routes/operations.ts';
import { PIXEL } from '../pictures.ts';
import { Random } from '../random.ts';
import { formRequest } from './forms.ts';
import {
  anyBody,
  type Body,
  FEED_PASSWORD,
  FEEDS,
  headerText,
  INSTANCE_PASSWORD,
  jsonBody,
  LOCKED_FEEDS,
  noteBody,
  OPERATOR_TOKEN,
  oddSegment,
  percentEncoded,
  RESERVED_FEED,
  RESERVED_PASSWORD,
} from './values.ts';

/** How the body goes over the wire. Only `length`, `chunked` and `fetch` are whole requests. */
const FRAMINGS = [
  'length',
  'chunked',
  'fetch',
  'hung up',
  'too short',
  'too long',
  'two lengths',
  'bad chunks',
  'odd bytes',
  'odd head',
] as const;

export interface FuzzRequest {
  readonly method: string;
  /** As it is sent but for its marks (values.ts). */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly framing: (typeof FRAMINGS)[number];
  /** Somewhere in the request, from 0 to 1: where it is cut or spoiled. */
  readonly at: number;
}

type Field = readonly [name: string, value: string];

/**
 * The table itself, without anything behind it: what is added to it is fuzzed too. But for event streams: an answer that
 * does not end is none that a connection has a next request after.
 */
export const TABLE = operations({
  site: { takesReports: true },
  licensing: {},
  publicUrl: undefined,
} as OperationParts).filter(({ id }) => !id.endsWith('Events'));

type Row = (typeof TABLE)[number];

const POSTS = TABLE.filter(({ id }) => /^(?:post|create)Note/.test(id));
/** Rarely done, so that there is something to read, change and delete. */
const ENDS = TABLE.filter(({ id }) =>
  /^(?:deleteFeed|removeFeed|takeDown|blockName|changeFeedPassword)/.test(id),
);
const OTHERS = TABLE.filter((row) => !ENDS.includes(row));

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const ODD_METHODS = ['BREW', 'get', 'TRACE', 'CONNECT', 'M-SEARCH'];

/** A verifier of PKCE, and its challenge (RFC 7636). */
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const REDIRECT = 'https://assistant.example/callback';
const CONSENT = {
  response_type: 'code',
  client_id: '{client 0}',
  redirect_uri: REDIRECT,
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

/**
 * What an operation wants beside what its method and path say. Marks stand for what answers told (known.ts), and `{feed}`,
 * `{password}` and `{id}` for the feed in the path, its password and a note of it.
 */
interface Wish {
  readonly query?: string;
  readonly headers?: readonly Field[];
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: Body;
}

const PREVIEW = { json: { text: '# A *text* <b>' } };
/** As a rule notes have bodies of their own (bodyOf). */
const NOTES: readonly Wish[] = [
  ...[{}, {}, {}, {}],
  { json: { content: '# A *text*', title: 'a', tags: ['b', 'C'], key: 'd', expires: '7d' } },
];
const toolCall = (name: string, args: object): Wish => ({
  json: {
    jsonrpc: '2.0',
    id: 3,
    method: 'tools/call',
    params: { name, arguments: { feed: '{feed}', password: '{password}', ...args } },
  },
});
const WISHES: Readonly<Record<string, readonly Wish[]>> = {
  openFeed: [{ form: { feed: FEEDS[0] } }, { form: { feed: 'A b' } }],
  logIn: [{ form: { password: INSTANCE_PASSWORD, next: '/x' } }, { form: { password: 'wrong' } }],
  logOut: [{ form: {} }],
  changeSettings: [
    { form: { title: 'a', description: 'b', show_sender: '1' } },
    { form: { read_id: '', sure: '1' } },
  ],
  deleteFeedByForm: [{ form: { name: '{feed}' } }],
  feedAccess: [
    { form: { action: 'unlock', password: FEED_PASSWORD } },
    { form: { action: 'lock' } },
    { form: { action: 'change', current: FEED_PASSWORD, next: FEED_PASSWORD } },
    { form: { action: 'remove', current: FEED_PASSWORD } },
  ],
  changeLicense: [{ form: { license: '{license 0}' } }, { form: { action: 'detach' } }],
  attachLicense: [{ json: { license: '{license 0}' } }],
  report: [
    { form: { target: '/r/{read 0}', reason: 'because', contact: '' } },
    { form: { target: '/r/{read 1}/{file 1}', reason: 'x' } },
  ],
  reportPage: [{ query: '?target=/r/{read 0}' }],
  share: [{ form: {} }, {}],
  postNote: NOTES,
  postNoteByUrl: NOTES,
  putNoteByKey: [{ query: '?key=a' }, { query: '?key=b%20c' }],
  preview: [PREVIEW, { json: { text: '' } }],
  listNotes: [{}, { query: '?q=word' }],
  changeFeedPassword: [{ json: { password: FEED_PASSWORD } }],
  setFeedPassword: [{ json: { password: FEED_PASSWORD } }],
  patchNoteByUrl: [
    { json: { title: 'a' } },
    { json: { alt: 'b', tags: ['c'] } },
    { json: { expires: '7d' } },
  ],
  patchNote: [{ json: { title: 'a' } }, { json: { tags: [] } }],
  updateFeed: [{ json: { title: 'a', description: 'b' } }],
  patchFeed: [
    { json: { title: 'a' } },
    { json: { keep: { notes: 30 } } },
    { json: { image: '{file 0}' } },
    { json: { listed: true } },
  ],
  importFeed: [{ body: { type: 'application/zip', bytes: Buffer.from('{zip 0}') } }],
  postHook: [{ json: { title: 'a', text: 'b' } }, { json: { text: 'c' } }, { json: { content: 'd' } }],
  blockName: [{ json: {} }],
  takeDown: [
    { json: { read_id: '{read 0}', file: '{file 0}', block: true } },
    { json: { target: '/r/{read 1}/{file 1}' } },
    { json: { read_id: '{read 2}', block: true } },
  ],
  moveImages: [{ json: { from: 'db' } }],
  registerClient: [{ json: { redirect_uris: [REDIRECT], client_name: 'An <assistant>' } }],
  authorizePage: [{ query: `?${new URLSearchParams(CONSENT)}`.replace('%7Bclient+0%7D', '{client 0}') }],
  authorize: [{ form: { ...CONSENT, password: INSTANCE_PASSWORD } }, { form: { ...CONSENT, deny: '1' } }],
  token: [
    {
      form: {
        grant_type: 'authorization_code',
        client_id: '{client 0}',
        code: '{code 0}',
        redirect_uri: REDIRECT,
        code_verifier: VERIFIER,
      },
    },
    { form: { grant_type: 'refresh_token', client_id: '{client 0}', refresh_token: '{refresh 0}' } },
  ],
  mcp: [
    { json: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    { json: { jsonrpc: '2.0', id: 2, method: 'ping' } },
    toolCall('list_notes', { limit: 5, tag: 'b' }),
    toolCall('search_notes', { query: 'words "in a" text*' }),
    toolCall('get_note', { id: '{id}' }),
    toolCall('post_note', {
      markdown: '![a](a.png)',
      ...{ title: 'a', tags: ['b'], key: 'c', expires: '7d' },
      attachments: [{ name: 'a.png', type: 'image/png', data: PIXEL.toString('base64'), alt: 'd' }],
    }),
    toolCall('post_file', { name: 'a.png', type: 'image/png', data: PIXEL.toString('base64'), alt: 'b' }),
    toolCall('edit_note', { id: '{id}', markdown: 'a', title: 'b' }),
    toolCall('get_feed', {}),
    toolCall('update_feed', { title: 'a', description: 'b', keep: { notes: 30 } }),
    {
      json: {
        jsonrpc: '2.0',
        id: 4,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
      },
    },
  ],
};
/** What assistants send with every call. */
const MCP_FIELDS: Field[] = [
  ['Accept', 'application/json, text/event-stream'],
  ['Mcp-Protocol-Version', '2025-06-18'],
];

const QUERIES = [
  ...['?limit=1', '?limit=0', '?limit=101', '?limit=2&limit=3', '?before=x', '?tag=a', '?', '?&&=', '?%'],
  ...[
    '?q="a',
    '?q=a*&from=2020-01-01',
    '?q=-a',
    '?to=x',
    '?from=2020-02-30',
    '?saved=1',
    '?after=e30',
    '?v=1',
  ],
];

function passwordFor(name: string): string | undefined {
  if (name === RESERVED_FEED) return RESERVED_PASSWORD;
  return LOCKED_FEEDS.some((locked) => locked === name) ? FEED_PASSWORD : undefined;
}

const PLAIN_FIELDS = [
  ['Accept-Encoding', 'gzip, br'],
  ['Accept-Encoding', 'br;q=0, *;q=zz'],
  ['If-None-Match', '*'],
  ['If-None-Match', 'W/"a", "b'],
  ['If-Modified-Since', 'Fri, 20 Nov 2026 00:00:00 GMT'],
  ['If-Modified-Since', 'yesterday'],
  ['Range', 'bytes=0-9'],
  ['Range', 'bytes=9-0,-,x'],
  ['Range', 'bytes=-99999999999999999999'],
  ['Expect', '100-continue'],
  ['Expect', 'the unexpected'],
  ['Connection', 'close'],
  ['X-Forwarded-For', '::1, not an address'],
  ['X-Forwarded-Host', 'evil.example'],
  ['Origin', 'https://example.org'],
  ['Cookie', 'session=%%%; a'],
  ['Upgrade', 'websocket'],
  ['Content-Encoding', 'gzip'],
  ['X-Feed-Password', 'wrong'],
  ['X-Feed-Password', ' '],
  ['Authorization', 'Bearer wrong'],
  ['Authorization', 'Basic Zm9vOmJhcg=='],
  ['X-Read-Id', 'chosen-one'],
  ['X-Note-Tags', 'One, two, two'],
] as const satisfies readonly Field[];

const TEXT_FIELDS = [
  'X-Note-Title',
  'X-Note-Title*',
  'X-Note-Alt',
  'X-Note-Name',
  'X-Note-Name*',
  'X-Note-Tags',
  'X-Read-Id',
  'X-Feed-Password',
  'If-None-Match',
  'Accept-Encoding',
  'Range',
  'X-Forwarded-For',
];

/** Values at once that fast-check has made, and requests from one replacement of some to the next. */
const POOL = 200;
const REPLACE_EVERY = 64;
/** Requests that come first: each operation some times, so that what is loaded when it is needed is
 * loaded then. A tool can be called in the fourth round, behind a client, a code and a token. */
export const FIRST = 6 * OTHERS.length;
const LONG = 40_000;

/** Makes requests, the same for a seed: as a rule right ones of an operation of the table, and some that nobody should send. */
export function requestMaker(seed: number): () => FuzzRequest {
  const { below, oneOf, oneIn } = new Random(seed);
  const pools: (() => void)[] = [];
  /** Values of fast-check: many at first, and then one after another is replaced, because making them takes long. */
  const pool = <T>(values: fc.Arbitrary<T>): (() => T) => {
    const all = fc.sample(values, { seed, numRuns: POOL });
    pools.push(() => {
      all[below(POOL)] = fc.sample(values, { seed: below(2 ** 31), numRuns: 1 })[0]!;
    });
    return () => oneOf(all);
  };
  const note = pool(noteBody);
  const form = pool(formRequest);
  const json = pool(jsonBody);
  const any = pool(anyBody);
  const text = pool(headerText);
  const segment = pool(oddSegment);
  const odd = pool(fc.string({ unit: 'binary' }));
  let made = 0;

  const feed = () => {
    if (oneIn(9)) return RESERVED_FEED;
    return oneIn(3) ? oneOf(LOCKED_FEEDS) : oneOf(FEEDS);
  };
  const method = (right: string) => {
    if (below(23) < 20) return right;
    return oneIn(3) ? oneOf(ODD_METHODS) : oneOf(METHODS);
  };
  const query = () => {
    if (below(12) < 9) return '';
    return oneIn(3) ? `?${oneOf(['tag', 'q'])}=${percentEncoded(text())}` : oneOf(QUERIES);
  };
  const row = (): Row => {
    if (made <= FIRST) return OTHERS[made % OTHERS.length]!;
    if (oneIn(3)) return oneOf(POSTS);
    return oneIn(25) ? oneOf(ENDS) : oneOf(OTHERS);
  };
  const framing = (): FuzzRequest['framing'] => {
    const kind = below(40);
    if (kind < 30) return 'length';
    if (kind < 38) return kind < 36 ? 'chunked' : 'fetch';
    return oneOf(FRAMINGS);
  };
  const fields = (): Field[] => {
    if (oneIn(2)) return [];
    const one = (): Field => (oneIn(2) ? oneOf<Field>(PLAIN_FIELDS) : [oneOf(TEXT_FIELDS), text()]);
    return Array.from({ length: below(4) }, one);
  };

  /** A body as the operation wants it, or any. */
  function bodyOf({ method: right, path }: Row): Body {
    if (oneIn(16)) return oneIn(2) ? any() : form();
    if (right === 'GET' || right === 'DELETE') return { type: undefined, bytes: Buffer.alloc(0) };
    const isNote = right === 'POST' || (right === 'PUT' && /\{id\}$|notes$/.test(path));
    if (!isNote) return json();
    return oneIn(3) ? form() : note();
  }

  function wished({ json, form, body }: Wish, name: string): Body | undefined {
    if (json !== undefined) {
      const isMark = name.startsWith('{');
      const text = JSON.stringify(json)
        .replaceAll('{feed}', name)
        .replaceAll('{password}', isMark ? name.replace('feed', 'password') : (passwordFor(name) ?? ''))
        .replaceAll('{id}', isMark ? name.replace('feed', 'id') : 'no-note');
      return { type: 'application/json', bytes: Buffer.from(text) };
    }
    if (form !== undefined) {
      const bytes = Buffer.from(
        new URLSearchParams(form)
          .toString()
          .replaceAll(/%7B(\w+)\+(\d+)%7D/g, '{$1 $2}')
          .replaceAll('%7Bfeed%7D', name),
      );
      return { type: 'application/x-www-form-urlencoded', bytes };
    }
    return body;
  }

  function ordinary(): FuzzRequest {
    const operation = row();
    const isFirst = made <= FIRST;
    const wishes = WISHES[operation.id] ?? [];
    const wish = isFirst || wishes.length === 0 ? wishes[0] : oneIn(5) ? undefined : oneOf(wishes);
    const number = below(20);
    // What is below a feed is found only by the name of that feed.
    const isLocked = operation.path.endsWith('/password') && !oneIn(4);
    const name = isLocked ? oneOf(LOCKED_FEEDS) : below(4) > 0 ? `{feed ${number}}` : feed();
    const body = (wish && wished(wish, name)) ?? bodyOf(operation);
    const isKnown = isFirst || !oneIn(20);
    const own: Field[] = [];
    if (isKnown) own.push(['Authorization', `Bearer ${bearerFor(operation)}`]);
    const password = name.startsWith('{') ? `{password ${number}}` : passwordFor(name);
    if (isKnown && password !== undefined) own.push(['X-Feed-Password', password]);
    if (body.type !== undefined) own.push(['Content-Type', body.type]);
    if (wish?.form !== undefined) own.push(['Sec-Fetch-Site', 'same-origin']);
    if (operation.id === 'mcp') own.push(...MCP_FIELDS);
    if (oneIn(8)) own.push(['Accept', 'text/html']);
    const odd = !isFirst && oneIn(12) ? segment() : undefined;
    const values: Record<string, string> = {
      feed: name,
      readId:
        operation.id === 'unblockLink'
          ? '{link 0}'
          : oneIn(7)
            ? oneOf(['chosen-one', 'ab'])
            : `{read ${number}}`,
      file: operation.id === 'asset' ? `{asset ${number}}` : `{file ${number}}`,
      id: `{id ${number}}`,
      kind: oneOf([...HOOK_KINDS.keys(), 'generic', 'slack']),
      report: '{report 0}',
      sha256: '{sha 0}',
    };
    const path = operation.path.replace(/\{(\w+)\}/g, (_, parameter: string) => {
      if (values[parameter] === undefined) throw new Error(`nothing is known to stand for {${parameter}}`);
      return odd ?? values[parameter];
    });
    return {
      method: isFirst ? operation.method : method(operation.method),
      path:
        path + (odd !== undefined && odd.length % 2 ? '/' : '') + (wish?.query ?? (isFirst ? '' : query())),
      headers: isFirst ? own : [...own, ...fields()],
      body: body.bytes,
      framing: isFirst ? 'length' : framing(),
      at: below(1_001) / 1_000,
    };
  }

  /** A head that no client should send: a huge one, or one with names and values that break the rules. */
  function oddHead(): FuzzRequest {
    const request = ordinary();
    const name = oneOf([
      'X',
      'X-Note-Title',
      'Host',
      'Transfer-Encoding',
      'Content-Length',
      'bad name',
      'x\u00e9',
      '',
      ':',
    ]);
    const value = oneOf(['v'.repeat(LONG), '-1', '1e3', 'gzip, chunked', odd()]);
    const more = Array.from({ length: oneOf([1, 2, 150]) }, (): Field => [name, value]);
    return { ...request, framing: 'odd head', headers: [...request.headers, ...more] };
  }

  /** An address of nothing, or a long one. */
  function oddPath(): FuzzRequest {
    const segments = Array.from({ length: below(9) }, segment);
    return { ...ordinary(), path: `/${segments.join('/')}${oneIn(10) ? 'x'.repeat(9_000) : ''}` };
  }

  return () => {
    made += 1;
    if (made % REPLACE_EVERY === 0) oneOf(pools)();
    const kind = made <= FIRST ? 2 : below(34);
    return kind === 0 ? oddPath() : kind === 1 ? oddHead() : ordinary();
  };
}

function bearerFor({ access }: Row): string {
  if (access === 'operator') return OPERATOR_TOKEN;
  return access === 'assistant' ? '{token 0}' : INSTANCE_PASSWORD;
}
