import { Random } from '../random.ts';

/** Bytes that are sent over one connection, and where they are cut into pieces. */
export interface RawFrames {
  readonly bytes: Buffer;
  /** Ascending. */
  readonly cuts: readonly number[];
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const ODD_METHODS = [
  'get',
  'Post',
  'BREW',
  'TRACE',
  'CONNECT',
  'M-SEARCH',
  '',
  'G\0T',
  ' GET',
  'GET\t',
  'PRI',
  'QUERY',
];
const TARGETS = ['/', '/a', '/a/b', '/a/b/', '/a?q=1', '/a/b?q=%20&r', '/%41'];
const ODD_TARGETS = [
  ...[
    '*',
    'a',
    '',
    '/a#f',
    '/a b',
    '/a\tb',
    '/a\0',
    '/\x7f',
    '/é',
    '/a?b?c',
    '//a',
    '/../a',
    '/a\\b',
    '/"<>',
    '/?',
    '/a??',
  ],
  ...[
    'http://other.example/a',
    'http://other.example',
    'HTTP://other.example/a',
    'other.example:80',
    '?q',
    '/a/./b',
  ],
];
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/11',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/ 1.1',
  '',
  'ICE/1.0',
  'HTTP/1.10',
];
const LINE_ENDS = ['\n', '\r', '\n\r', '\r\r\n', '', '\r\n ', '\r\n\t', '\r\n\r\n', '\0\r\n', ' \r\n'];
const FIELDS = [
  ...[
    'X-A: b',
    'X-A:b',
    'X-A: b \t',
    'X-A:\t b',
    'Accept: a',
    'Accept: b',
    'Cookie: a=b',
    'Cookie: c=d',
    'X-B:',
    'X-B: ',
  ],
  ...[
    'Connection: keep-alive',
    'Connection: close',
    'Expect: 100-continue',
    'TE: trailers',
    'Trailer: X-T',
    'Range: bytes=0-1',
  ],
  ...[
    'X-A: é',
    'X-A: a, b',
    'Content-Type: text/plain',
    "X-!#$%&'*+.^_`|~: a",
    'Connection: close, X-A',
    'X-a: B',
  ],
];
const ODD_FIELDS = [
  ...[
    ': x',
    ':',
    'X-A : b',
    'X-A\t: b',
    ' X-A: b',
    '\tX-A: b',
    'noColon',
    'X A: b',
    'X\0A: b',
    'X-A: a\0b',
    'X-A: a\rb',
    'X-A: a\x7fb',
  ],
  ...[
    'X-A: a\r\n b',
    'X-A: a\r\n\tb',
    'X-A: a\nX-B: c',
    'X-A: a\n',
    'é: a',
    '(a): b',
    '"X": a',
    'X-A: \xff',
    'X-A:\r\n b',
    'X-A: a\x01b',
  ],
  ...[
    'Connection: upgrade\r\nUpgrade: websocket',
    'Upgrade: h2c',
    'HTTP2-Settings: AAA',
    'Expect: other',
    'Host: other',
    'Host:',
    'Host: a b',
  ],
  ...[
    'Connection: Transfer-Encoding',
    'Connection: Content-Length',
    `X-A: ${'x'.repeat(17_000)}`,
    'X:b\r\n'.repeat(110).trimEnd(),
  ],
];
const HOSTS = [
  '',
  'Host: ',
  'Host: a\r\nHost: b',
  'Host: a\r\nHost: a',
  'Host: a@b',
  'host:a',
  'Host : a',
  'HOST: a/b',
];
/** Header lines that tell the length in an odd way; `#` in them stands for the true length of the body. */
const ODD_LENGTHS = [
  ...[
    'Content-Length: +#',
    'Content-Length: -#',
    'Content-Length: 0#',
    'Content-Length: #, #',
    'Content-Length: # #',
    'Content-Length: 0x#',
  ],
  ...[
    'Content-Length: #\r\nContent-Length: #',
    'Content-Length: #\r\nContent-Length: 0',
    'Content-Length: 0\r\nContent-Length: #',
  ],
  ...[
    'Content-Length : #',
    'Content-Length:#',
    'Content-Length: \t#',
    'Content-Length: #;',
    'Content-Length: #.0',
    'Content-Length: "#"',
  ],
  ...[
    'Content-Length:',
    'Content-Length: ',
    'Content-Length: 18446744073709551616',
    'Content-Length: 4294967296',
    'CONTENT-LENGTH: #',
  ],
  ...[
    'Content_Length: #',
    'Content-Length\0: #',
    ' Content-Length: #',
    'X: y\nContent-Length: #',
    'X: y\rContent-Length: #',
    ': x\r\nContent-Length: #',
  ],
  ...[
    'Content-Length: #\r\n 0',
    'Content-Length:\r\n #',
    'X-A: b\r\n Content-Length: #',
    'Content-Length: #\0',
    'Content-Length: 1e1',
    'Content-Length: ٣',
  ],
];
const ODD_CODINGS = [
  ...[
    'Transfer-Encoding: Chunked',
    'Transfer-Encoding:chunked',
    'Transfer-Encoding: \tchunked \t',
    'transfer-encoding: CHUNKED',
  ],
  ...[
    'Transfer-Encoding : chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: identity',
  ],
  ...[
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: xchunked',
  ],
  ...[
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding:',
  ],
  ...[
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: chunked;a=b',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: chunked,',
    'Transfer_Encoding: chunked',
  ],
  ...[
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: chunked\0',
    'Transfer-Encoding:\r\n chunked',
    ' Transfer-Encoding: chunked',
    'X: y\nTransfer-Encoding: chunked',
  ],
  ...[
    'Content-Length: 3\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Content-Length: 0\r\nTransfer-Encoding: chunked',
  ],
  ...[
    ': x\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nConnection: close',
    'Transfer-Encoding: chunked\r\nTE: trailers',
    'Transfer-Encoding\0: chunked',
  ],
];
const ODD_SIZES = [
  '0x#',
  '+#',
  '-#',
  ' #',
  '# ',
  '#\t',
  '00#',
  '#;',
  '#;a',
  '#;a=b',
  '#;a="b\r\n"',
  '#;"',
  '#\0',
  '#g',
  'g',
  '',
  '#,',
  '100000000#',
  '#;a\n',
  '#;\r',
  '#\r',
];
const CHUNK_ENDS = ['\n', '\r', 'XX', '', '\r\r\n', '\n\n', ' \r\n', '\r\n\r\n'];
const LAST_CHUNKS = [
  '0\r\n',
  '0\n\n',
  '00\r\n\r\n',
  '0;a\r\n\r\n',
  '0 \r\n\r\n',
  '-0\r\n\r\n',
  '0\r\nX-T: 1\r\n\r\n',
  '0\r\nX-T: 1\n\n',
  '0\r\nXX',
  '0\r\n\n',
  '0\r\nContent-Length: 5\r\n\r\n',
  '0\r\nGET / HTTP/1.1\r\n\r\n',
  '',
  '0x0\r\n\r\n',
  '0\r\n: x\r\n\r\n',
  '0\r\n\r\r\n',
];
const BETWEEN = ['\r\n', '\n', '\r\n\r\n', ' ', '\0', 'x', '\r', '\t\r\n'];
const BODIES = [
  '',
  'abc',
  'a\r\nb\r\n',
  '0\r\n\r\n',
  '\r\n',
  'GET /in HTTP/1.1\r\nHost: in\r\n\r\n',
  'xyz'.repeat(20),
  '\0\xff',
  'POST /in HTTP/1.1\r\nHost: in\r\nContent-Length: 0\r\n\r\n',
];

/**
 * Makes requests as proxies send them with one or a few things about them that are odd: in their first line, fields, lengths,
 * chunks, ends of lines, and between them. The same for a seed.
 */
export function frameMaker(seed: number): () => RawFrames {
  const { below, oneOf, oneIn } = new Random(seed);
  /** How rare odd things are in the frames that are made now. */
  let rarity = 0;
  const usually = (usual: () => string, odd: readonly string[]): string =>
    rarity > 0 && oneIn(rarity) ? oneOf(odd) : usual();
  const end = () => usually(() => '\r\n', LINE_ENDS);

  function chunks(body: string): string {
    let all = '';
    for (let at = 0; at < body.length; ) {
      const part = body.slice(at, at + 1 + below(40));
      at += part.length;
      const size = part.length.toString(16);
      all +=
        usually(() => size, ODD_SIZES).replace('#', size) + end() + part + usually(() => '\r\n', CHUNK_ENDS);
    }
    return all + usually(() => '0\r\n\r\n', LAST_CHUNKS);
  }

  function request(): string {
    const method = usually(() => oneOf(METHODS), ODD_METHODS);
    const target = usually(() => oneOf(TARGETS), ODD_TARGETS);
    const version = usually(() => 'HTTP/1.1', VERSIONS);
    const space = () => usually(() => ' ', ['  ', '\t', '', ' \t', '\0', '\x0b']);
    const lines = [`${method}${space()}${target}${space()}${version}`, usually(() => 'Host: a', HOSTS)];
    for (let n = below(4); n > 0; n -= 1) lines.push(usually(() => oneOf(FIELDS), ODD_FIELDS));
    const text = oneOf(BODIES);
    let body = '';
    const framing = below(method === 'GET' || method === 'HEAD' ? 6 : 3);
    if (framing === 0) {
      lines.push(usually(() => 'Transfer-Encoding: chunked', ODD_CODINGS));
      body = chunks(text);
    } else if (framing < 3) {
      const length = String(oneIn(20) ? text.length + below(5) - 2 : text.length);
      lines.push(usually(() => 'Content-Length: #', ODD_LENGTHS).replaceAll('#', length));
      body = text;
    }
    // Neither framing nor host are always the last.
    if (oneIn(3)) lines.push(...lines.splice(1, 1));
    return lines.map((line) => line + end()).join('') + end() + body;
  }

  return () => {
    // Often one odd thing alone, so that its effect is seen.
    rarity = oneOf([0, 8, 20, 20, 40, 40]);
    let text = '';
    // One alone, because the service leaves what follows chunks.
    const isAlone = oneIn(2);
    for (let n = isAlone ? 1 : 1 + below(3); n > 0; n -= 1) text += request() + usually(() => '', BETWEEN);
    if (!isAlone) text += 'GET /next HTTP/1.1\r\nHost: next\r\n\r\n';
    const bytes = Buffer.from(text, 'latin1');
    if (oneIn(6)) bytes[below(bytes.length)]! ^= 1 << below(8);
    const cuts = oneIn(3) ? Array.from({ length: 1 + below(3) }, () => below(bytes.length)) : [];
    return { bytes, cuts: [...new Set(cuts)].filter((cut) => cut > 0).sort((a, b) => a - b) };
  };
}
