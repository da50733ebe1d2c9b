import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { Refusal } from '../refusals.ts';
import { type Answer, refusalAnswer } from './answer.ts';
import { httpDate, matchesETag, parseRange, settledAt, unchangedSince } from './conditional.ts';
import type { Exchange } from './exchange.ts';
import { type Headers, headers } from './headers.ts';

/** Smaller bodies fit into one packet with their headers, bytes. */
export const COMPRESS_MIN_BYTES = 1024;
/** Parts up to this size are read by themselves, larger ones from the whole body if that is kept, bytes. */
const SMALL_PART_BYTES = 64 * 1024;
/** Our content codings, best first. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

const COMPRESSORS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

/** Compresses a body that is compressed once for all requests: at the levels of Node, on a thread of libuv. */
export function compressOnce(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return COMPRESSORS[coding](bytes);
}

/** A body that is read when it is asked for. */
interface StoredBody {
  readonly size: number;
  /** Bytes `start` (inclusive) to `end` (exclusive), in pieces whose memory may be used again. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

interface RepresentationOptions {
  readonly body: Uint8Array | StoredBody;
  /** A stored body of at most this size is kept once it was sent in whole, bytes. */
  readonly largestKept?: number;
  /** Without quotes. The same for the same bytes in every container. */
  readonly etag: string;
  /** Ms since the epoch. Shows as `Last-Modified` when it is settled, see `confirm`. */
  readonly changedAt?: number | undefined;
  /** A later version may have an earlier date. */
  readonly mayGetOlder?: boolean;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Compresses the body; optional. */
  readonly compress?: ((bytes: Uint8Array, coding: Coding) => Promise<Uint8Array>) | undefined;
  /** A compressed form that is there already. */
  readonly encoded?: { readonly coding: Coding; readonly bytes: Uint8Array } | undefined;
  readonly ranges?: boolean;
}

export type Preconditions = Pick<Exchange, 'isHead' | 'header'>;

interface Variant {
  readonly etag: string;
  headers: Headers;
  notModified: Answer;
  full: Answer | undefined;
  pending: Promise<Answer> | undefined;
}

/**
 * One version of a resource: identity, compressed (once, at the first request for it), partial, or as a 304. Its answers
 * are made once and shared by all requests.
 */
export class Representation {
  readonly #options: RepresentationOptions;
  readonly #identity: Variant;
  /** Made lazily, because their headers take as much memory as a short body. */
  readonly #encoded = new Map<Coding, Variant>();
  readonly #isCompressible: boolean;
  /** The date to be, in ms, until it is settled. */
  #unsettled: number | undefined;
  /** In ms, once it is settled. */
  #lastModified: number | undefined;
  /** Called when a body was kept or a compressed form was added. */
  onGrow: (() => void) | undefined;
  #size: number;

  constructor(options: RepresentationOptions) {
    this.#options = options;
    this.#identity = this.#variant(undefined);
    const { body } = options;
    const isHeld = body instanceof Uint8Array;
    if (isHeld) this.#identity.full = { status: 200, headers: this.#identity.headers, body };
    this.#size = isHeld ? body.length : 0;
    this.#isCompressible = options.compress !== undefined && this.#size >= COMPRESS_MIN_BYTES;
    const { encoded } = options;
    if (encoded !== undefined) this.#fill(this.#variantOf(encoded.coding), encoded.bytes);
    this.#unsettled = options.changedAt === undefined ? undefined : settledAt(options.changedAt);
  }

  get size(): number {
    return this.#size;
  }

  /** The quoted entity tag of the bytes as they are. */
  get etag(): string {
    return this.#identity.etag;
  }

  /**
   * Says that this was the current version at a time (ms; now, unless it is given): from the first such time on at which its
   * date is settled it has a `Last-Modified`.
   */
  confirm(time?: number): void {
    const lastModified = this.#unsettled;
    if (lastModified === undefined || (time ?? Date.now()) < lastModified) return;
    this.#unsettled = undefined;
    this.#lastModified = lastModified;
    for (const variant of [this.#identity, ...this.#encoded.values()]) addLastModified(variant, lastModified);
  }

  /** The answer to a GET or HEAD: RFC 9110 §13.2.2, order of preconditions. */
  answer(request: Preconditions): Answer | Promise<Answer> {
    const variant = this.#select(request);
    const ifNoneMatch = request.header('if-none-match');
    if (ifNoneMatch !== undefined) {
      if (matchesETag(ifNoneMatch, variant.etag)) return variant.notModified;
    } else if (this.#lastModified !== undefined) {
      const since = request.header('if-modified-since');
      if (since !== undefined && unchangedSince(since, this.#lastModified, this.#options.mayGetOlder))
        return variant.notModified;
    }
    if (this.#options.ranges && !request.isHead) {
      const range = request.header('range');
      if (range !== undefined) return this.#part(range, request);
    }
    return this.#whole(variant, request.isHead);
  }

  #whole(variant: Variant, isHead: boolean): Answer | Promise<Answer> {
    if (variant.full !== undefined) return variant.full;
    const { body, largestKept = 0 } = this.#options;
    const isHeld = body instanceof Uint8Array;
    if (!isHeld && (isHead || body.size > largestKept)) return this.#stream(body, isHead);
    variant.pending ??= (isHeld ? this.#encode(variant, body) : this.#keep(variant, body)).finally(() => {
      variant.pending = undefined;
    });
    return variant.pending;
  }

  async #keptBody(): Promise<Uint8Array> {
    return (await this.#whole(this.#identity, false)).body as Uint8Array;
  }

  #select(request: Preconditions): Variant {
    const coding = this.#isCompressible && preferredCoding(request.header('accept-encoding'));
    return coding ? this.#variantOf(coding) : this.#identity;
  }

  #variantOf(coding: Coding): Variant {
    const variant = this.#encoded.get(coding) ?? this.#variant(coding);
    this.#encoded.set(coding, variant);
    return variant;
  }

  #variant(coding: Coding | undefined): Variant {
    const { etag, fields, compress, ranges } = this.#options;
    const quoted = coding === undefined ? `"${etag}"` : `"${etag}-${coding}"`;
    const validators = {
      ETag: quoted,
      Vary: compress === undefined ? undefined : 'Accept-Encoding',
    };
    const variant: Variant = {
      etag: quoted,
      headers: headers({
        ...fields,
        ...validators,
        'Content-Encoding': coding,
        'Accept-Ranges': ranges ? 'bytes' : undefined,
      }),
      notModified: {
        status: 304,
        headers: headers({ 'Cache-Control': fields['Cache-Control'], ...validators }),
      },
      full: undefined,
      pending: undefined,
    };
    if (this.#lastModified !== undefined) addLastModified(variant, this.#lastModified);
    return variant;
  }

  async #keep(variant: Variant, { size, read }: StoredBody): Promise<Answer> {
    return this.#fill(variant, await readFirst({ read }, size));
  }

  #fill(variant: Variant, body: Uint8Array): Answer {
    variant.full = { status: 200, headers: variant.headers, body };
    this.#size += body.length;
    this.onGrow?.();
    return variant.full;
  }

  async #encode(variant: Variant, body: Uint8Array): Promise<Answer> {
    const coding = CODINGS.find((name) => this.#encoded.get(name) === variant)!;
    try {
      return this.#fill(variant, await this.#options.compress!(body, coding));
    } catch {
      // Compression is optional, for example if the pool is full.
      return this.#identity.full!;
    }
  }

  #part(range: string, request: Preconditions): Answer | Promise<Answer> {
    const body = (this.#identity.full?.body as Uint8Array | undefined) ?? this.#options.body;
    const size = body instanceof Uint8Array ? body.length : body.size;
    const ifRange = request.header('if-range');
    // Strong comparison (RFC 9110 §13.1.5); dates never match, because two versions may share a second.
    const isOther = ifRange !== undefined && ifRange !== this.#identity.etag;
    const part = isOther ? undefined : parseRange(range, size);
    if (part === undefined) return this.#whole(this.#identity, request.isHead);
    if (part === 'unsatisfiable')
      return refusalAnswer(
        new Refusal('range', `The file has ${size} bytes, none of which the range names.`, {
          headers: { 'Content-Range': `bytes */${size}` },
        }),
      );
    const { start, end } = part;
    const partial = {
      status: 206,
      headers: this.#identity.headers.concat(
        headers({ 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
      ),
    };
    if (body instanceof Uint8Array) return { ...partial, body: body.subarray(start, end) };
    // Read at once, because a store has few places for readers, and a slow one would keep one of them.
    if (end - start <= SMALL_PART_BYTES)
      return readPart(body, start, end).then((bytes) => ({ ...partial, body: bytes }));
    if (body.size > (this.#options.largestKept ?? 0)) return startStream(partial, body, part);
    // Slow readers of large parts share the whole body, as long as it is kept.
    return this.#keptBody().then((whole) => ({ ...partial, body: whole.subarray(start, end) }));
  }

  #stream(body: StoredBody, isHead: boolean): Promise<Answer> {
    const { headers } = this.#identity;
    return startStream({ status: 200, headers }, body, { start: 0, end: body.size }, isHead);
  }
}

/** Adds `Last-Modified` to all answers of a variant. */
function addLastModified(variant: Variant, lastModified: number): void {
  const field = headers({ 'Last-Modified': httpDate(lastModified) });
  const { notModified, full } = variant;
  variant.headers = variant.headers.concat(field);
  variant.notModified = { ...notModified, headers: notModified.headers.concat(field) };
  if (full !== undefined) variant.full = { ...full, headers: variant.headers };
}

/** Reads the first piece before the status is sent, so that a failure is still answered as an error. */
async function startStream(
  answer: Pick<Answer, 'status' | 'headers'>,
  body: StoredBody,
  { start, end }: { readonly start: number; readonly end: number },
  isHead = false,
): Promise<Answer> {
  const pieces = body.read(start, isHead ? Math.min(start + 1, end) : end)[Symbol.asyncIterator]();
  const first = await pieces.next();
  const close = () => void pieces.return?.().catch(() => {});
  return { ...answer, body: { size: end - start, chunks: prependChunk(first, pieces), close } };
}

/** The first `size` bytes of a body. */
export function readFirst(body: Pick<StoredBody, 'read'>, size: number): Promise<Uint8Array<ArrayBuffer>> {
  return readPart(body, 0, size);
}

async function readPart(
  body: Pick<StoredBody, 'read'>,
  start: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  let at = 0;
  for await (const piece of body.read(start, end)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.subarray(0, at);
}

export async function* prependChunk(
  first: IteratorResult<Uint8Array>,
  pieces: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  for (let next = first; !next.done; next = await pieces.next()) yield next.value;
}

function negotiate(header: string): Coding | undefined {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, q === undefined ? 1 : Number(q.slice(2)) || 0);
  }
  const weight = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  let best: Coding | undefined;
  for (const coding of CODINGS) if (weight(coding) > (best ? weight(best) : 0)) best = coding;
  return best && weight(best) >= (weights.get('identity') ?? 0) ? best : undefined;
}

/** Clients send few different values, so a cache keeps the parser off the hot path. */
const cache = new Map<string, Coding | undefined>();
const CACHE_MAX = 256;

/**
 * The coding with the greatest weight in `Accept-Encoding` (RFC 9110 §12.5.3), brotli before gzip; undefined for identity,
 * which is always acceptable.
 */
export function preferredCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '') return undefined;
  let coding = cache.get(header);
  if (coding === undefined && !cache.has(header)) {
    coding = negotiate(header);
    // Else made-up values would fill the cache for good.
    if (cache.size >= CACHE_MAX) cache.clear();
    cache.set(header, coding);
  }
  return coding;
}
