/** Requests of every operation, and what is no request at all. */
import fc from 'fast-check';
import type { OperationParts } from '../../../src/routes/operation.ts';
import { operations } from '../../../src/routes/operations.ts';
import { formRequest } from './forms.ts';
import {
  anyBody,
  type Body,
  FEED_PASSWORD,
  FEEDS,
  headerText,
  INSTANCE_PASSWORD,
  jsonBody,
  known,
  LOCKED_FEEDS,
  noteBody,
  oddSegment,
  percentEncoded,
  RESERVED_FEED,
  RESERVED_PASSWORD,
} from './values.ts';

const { constantFrom, oneof } = fc;

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
  publicUrl: undefined,
} as OperationParts).filter(({ id }) => !id.endsWith('Events'));

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const ODD_METHODS = ['BREW', 'get', 'TRACE', 'CONNECT', 'M-SEARCH'];

/** Posts often, so that there is something to read, change and delete; whole feeds go now and then. */
const operation = oneof(
  { weight: 2, arbitrary: constantFrom(...TABLE.filter(({ id }) => /^(post|create)Note$/.test(id))) },
  { weight: 4, arbitrary: constantFrom(...TABLE) },
);

const method = (right: string) =>
  oneof(
    { weight: 20, arbitrary: fc.constant(right) },
    { weight: 2, arbitrary: constantFrom(...METHODS) },
    { weight: 1, arbitrary: constantFrom(...ODD_METHODS) },
  );

const feed = oneof(
  { weight: 5, arbitrary: constantFrom<string>(...FEEDS) },
  { weight: 3, arbitrary: constantFrom<string>(...LOCKED_FEEDS) },
  { weight: 1, arbitrary: fc.constant(RESERVED_FEED) },
);

/** What stands in a path for its parameters. */
const parameters = fc.record({
  feed,
  id: known('id'),
  file: known('file'),
  read_id: oneof(
    { weight: 6, arbitrary: known('read') },
    { weight: 1, arbitrary: constantFrom('chosen-one', 'ab') },
  ),
  note: known('url'),
  odd: oddSegment,
  isOdd: fc.nat({ max: 11 }).map((n) => n === 0),
});

const query = oneof(
  { weight: 8, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: constantFrom('?limit=1', '?limit=0', '?limit=101', '?limit=2&limit=3', '?before=x'),
  },
  { weight: 1, arbitrary: constantFrom('?tag=a', '?', '?&&=', '?%') },
  { weight: 1, arbitrary: headerText.map((text) => `?tag=${percentEncoded(text)}`) },
  { weight: 1, arbitrary: headerText.map((text) => `?q=${percentEncoded(text)}`) },
  {
    weight: 1,
    arbitrary: constantFrom('?q="a', '?q=a*&from=2020-01-01', '?q=-a', '?to=x', '?from=2020-02-30'),
  },
);

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

const field: fc.Arbitrary<Field> = oneof(
  constantFrom<Field[]>(...PLAIN_FIELDS),
  fc.tuple(constantFrom(...TEXT_FIELDS), headerText),
);

/** A body as the operation wants it, or any. */
function bodyFor(right: string, path: string): fc.Arbitrary<Body> {
  const isNote = right === 'POST' || (right === 'PUT' && path.endsWith('{id}'));
  const nothing = fc.constant<Body>({ type: undefined, bytes: Buffer.alloc(0) });
  const note = oneof({ weight: 2, arbitrary: noteBody }, { weight: 1, arbitrary: formRequest });
  const wanted = right === 'GET' || right === 'DELETE' ? nothing : isNote ? note : jsonBody;
  return oneof({ weight: 14, arbitrary: wanted }, anyBody, formRequest);
}

/** A request of an operation of the table, as a rule a right one. */
const ordinary: fc.Arbitrary<FuzzRequest> = operation.chain(({ method: right, path }) =>
  fc
    .record({
      method: method(right),
      values: parameters,
      query,
      body: bodyFor(right, path),
      isKnown: fc.nat({ max: 19 }).map((n) => n > 0),
      fields: oneof(fc.constant([]), fc.array(field, { maxLength: 4 })),
      framing: framing(),
      at: fc.nat({ max: 1000 }).map((thousandths) => thousandths / 1000),
    })
    .map(({ values, query, body, isKnown, fields, ...request }) => {
      const own: Field[] = [];
      if (isKnown) own.push(['Authorization', `Bearer ${INSTANCE_PASSWORD}`]);
      const password = passwordFor(values.feed);
      if (isKnown && password !== undefined) own.push(['X-Feed-Password', password]);
      if (body.type !== undefined) own.push(['Content-Type', body.type]);
      return {
        ...request,
        path: placed(path, values) + query,
        headers: [...own, ...fields],
        body: body.bytes,
      };
    }),
);

function framing(): fc.Arbitrary<FuzzRequest['framing']> {
  return oneof(
    { weight: 14, arbitrary: fc.constant('length' as const) },
    { weight: 4, arbitrary: constantFrom('chunked' as const, 'fetch' as const) },
    { weight: 2, arbitrary: constantFrom(...FRAMINGS) },
  );
}

/** The path with its parameters; a note by its address where the path has both a feed and an id. */
function placed(path: string, values: typeof parameters extends fc.Arbitrary<infer T> ? T : never): string {
  if (path === '/{feed}/{id}' && !values.isOdd) return values.note;
  const filled = path.replace(/\{(feed|id|file|read_id)\}/g, (_, name: 'feed' | 'id' | 'file' | 'read_id') =>
    values.isOdd ? values.odd : values[name],
  );
  return values.isOdd && values.odd.length % 2 ? `${filled}/` : filled;
}

const LONG = 40_000;

/** Heads that no client should send: huge ones, and names and values that break the rules. */
const oddHead: fc.Arbitrary<FuzzRequest> = fc
  .record({
    request: ordinary,
    name: constantFrom(
      'X',
      'X-Note-Title',
      'Host',
      'Transfer-Encoding',
      'Content-Length',
      'bad name',
      'x\u00e9',
      '',
      ':',
    ),
    value: oneof(
      fc.constant('v'.repeat(LONG)),
      fc.constant('-1'),
      fc.constant('1e3'),
      fc.constant('gzip, chunked'),
      fc.string({ unit: 'binary' }),
    ),
    count: constantFrom(1, 2, 150),
  })
  .map(({ request, name, value, count }) => ({
    ...request,
    framing: 'odd head',
    headers: [...request.headers, ...Array.from({ length: count }, (): Field => [name, value])],
  }));

/** Addresses of nothing, and long ones. */
const oddPath: fc.Arbitrary<FuzzRequest> = fc
  .record({ request: ordinary, segments: fc.array(oddSegment, { maxLength: 8 }), isLong: fc.nat({ max: 9 }) })
  .map(({ request, segments, isLong }) => ({
    ...request,
    path: `/${segments.join('/')}${isLong === 0 ? 'x'.repeat(9_000) : ''}`,
  }));

export const fuzzRequest: fc.Arbitrary<FuzzRequest> = oneof(
  { weight: 30, arbitrary: ordinary },
  { weight: 2, arbitrary: oddPath },
  { weight: 2, arbitrary: oddHead },
);
