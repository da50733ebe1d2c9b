import type { Understanding, UnderstoodRequest } from './understanding.ts';

/** Where the service and `node:http` understand the bytes of a connection differently for the first time. */
export interface Difference {
  /** One byte in each character. */
  readonly bytes: string;
  readonly service: Understanding;
  readonly node: Understanding;
  /** How many requests both understood in the same way before. */
  readonly at: number;
}

/** The first difference; undefined if there is none. */
export function differenceOf(
  bytes: Buffer,
  service: Understanding,
  node: Understanding,
): Difference | undefined {
  const at = service.requests.findIndex((request, n) => !isSame(request, node.requests[n]));
  if (at === -1 && service.requests.length >= node.requests.length) return undefined;
  return { bytes: bytes.toString('latin1'), service, node, at: at === -1 ? service.requests.length : at };
}

function isSame(one: UnderstoodRequest, other: UnderstoodRequest | undefined): boolean {
  return (
    other !== undefined &&
    one.method === other.method &&
    one.target === other.target.replace(/^([^?]*)\?$/, '$1') &&
    (one.body === undefined || one.body === other.body) &&
    one.names.join() === other.names.join() &&
    Object.entries(one.values).every(([name, value]) => plain(value) === plain(other.values[name] ?? ''))
  );
}

/** Bytes that are not UTF-8 count for nothing, as in the service. */
const plain = (value: string) => value.replaceAll('\ufffd', '');

/** A difference that is known, and why it is as it is. */
interface Known {
  /** Why the service does so, and why nobody can use it. */
  readonly because: string;
  readonly applies: (difference: Difference) => boolean;
}

const serviceRequest = ({ service, at }: Difference) => service.requests[at];
const nodeRequest = ({ node, at }: Difference) => node.requests[at];
/** The service did nothing that Node did not do. */
const doesLess = (difference: Difference) => serviceRequest(difference) === undefined;
/** The service understood a request where Node found none. */
const doesMore = (difference: Difference) => nodeRequest(difference) === undefined;
const isRefused = (difference: Difference) => serviceRequest(difference)?.body === undefined;
const isLast = ({ service, at }: Difference) => service.requests.length === at + 1;
const hasField = (name: string, request: UnderstoodRequest | undefined) =>
  request?.names.includes(name) === true;

/** What the binding itself, or our check of the head, refuses without calling a handler. */
const REFUSALS = [400, 404, 405, 413, 431, 505];

export const KNOWN_DIFFERENCES: Readonly<Record<string, Known>> = {
  refusesMore: {
    because:
      'The service refuses a head that Node takes: another version than HTTP/1.1, a target without a leading slash, no Host, ' +
      'or too many bytes of fields. The connection ends with the refusal.',
    applies: (difference) =>
      doesLess(difference) &&
      difference.service.isClosed &&
      REFUSALS.includes(difference.service.statuses.at(-1) ?? 0),
  },
  closesEarly: {
    because:
      'The service closes the connection behind chunks, a request without a length and `Connection: close`, and when a ' +
      'request arrives while another waits for its body or its answer. What follows is not done, and its client sends it again.',
    applies: (difference) => doesLess(difference) && difference.service.isClosed,
  },
  waitsForMore: {
    because:
      'An empty line in front of a request, or a first line without two spaces, is the beginning of a head for the binding, ' +
      'which waits for its end. Nothing is done, and the connection ends by its timeout.',
    applies: (difference) => doesLess(difference) && !difference.service.isClosed,
  },
  refusesToo: {
    because:
      'Both refuse the request: Node by its parser, the service by its own check, and ends the connection.',
    applies: (difference) => doesMore(difference) && isRefused(difference) && isLast(difference),
  },
  unknownMethod: {
    because:
      'Node knows a list of methods. The service answers 405 to any other, whose body ends where its length says, so that ' +
      'the next request is where the client put it.',
    applies: (difference) =>
      doesMore(difference) &&
      isRefused(difference) &&
      /INVALID_METHOD|INVALID_VERSION/.test(difference.node.error ?? ''),
  },
  chunkFraming: {
    because:
      'The binding takes any two bytes for the end of a chunk, and skips what is not hexadecimal in its size. The service ' +
      'ends the connection behind every chunked body, so nothing that follows can be made a request. A proxy frames anew.',
    applies: (difference) =>
      doesMore(difference) &&
      isLast(difference) &&
      hasField('transfer-encoding', serviceRequest(difference)) &&
      /chunk|LF after headers|header token|header field char/i.test(difference.node.error ?? ''),
  },
  lastChunk: {
    because:
      'For the binding a body ends with the size of its last chunk; Node waits for the empty line behind it. All of the body ' +
      'is there, and the connection ends.',
    applies: (difference) =>
      doesMore(difference) &&
      isLast(difference) &&
      hasField('transfer-encoding', serviceRequest(difference)) &&
      difference.node.error === undefined &&
      !difference.node.isClosed,
  },
  spaceBehindCoding: {
    because: 'White space around a value is no part of it (RFC 9110 §5.5); Node takes none behind `chunked`.',
    applies: (difference) =>
      doesMore(difference) &&
      isLast(difference) &&
      /chunked[ \t]+\r\n/i.test(difference.bytes) &&
      /TRANSFER_ENCODING/.test(difference.node.error ?? ''),
  },
  emptyFieldName: {
    because:
      'A field without a name is the end of the fields for the binding, which hides those behind it, a length too. Behind a ' +
      'method that writes the service ends the connection. Proxies refuse such a field or drop it.',
    applies: (difference) =>
      doesMore(difference) &&
      /header token/.test(difference.node.error ?? '') &&
      /\n:/.test(difference.bytes),
  },
  deleteCharacter: {
    because:
      'A field may keep a control character in its value (RFC 9110 §5.5); the service refuses it where it matters.',
    applies: (difference) =>
      doesMore(difference) &&
      /header value char/.test(difference.node.error ?? '') &&
      difference.bytes.includes('\x7f'),
  },
  bytesInTarget: {
    because:
      'Clients send UTF-8 in a path and a query without encoding it. What is not UTF-8 becomes U+FFFD, which is in no name ' +
      'of a feed, a note or a file.',
    applies: (difference) =>
      doesMore(difference) &&
      /INVALID_URL/.test(difference.node.error ?? '') &&
      /[\x7f-\uffff]/.test(serviceRequest(difference)?.target ?? ''),
  },
  connect: {
    because: 'For Node a tunnel begins behind CONNECT. The service answers 405, and goes on behind the body.',
    applies: (difference) => doesMore(difference) && /(?:^|[^A-Z])CONNECT /.test(difference.bytes),
  },
  upgrade: {
    because:
      'For Node another protocol begins behind `Upgrade`. The service knows no other, and goes on (RFC 9110 §7.8).',
    applies: (difference) =>
      doesMore(difference) && difference.node.requests.some((request) => hasField('upgrade', request)),
  },
};

/** The name of a known difference; undefined if nobody knows it. */
export function knownAs(difference: Difference): string | undefined {
  return Object.keys(KNOWN_DIFFERENCES).find((name) => KNOWN_DIFFERENCES[name]!.applies(difference));
}
