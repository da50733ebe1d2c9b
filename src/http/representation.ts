import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { Refusal } from '../refusals.ts';
import { type Answer, bodySize, type KeptBody, refusalAnswer } from './answer.ts';
import { httpDate, matchesETag, parseRange, settledAt, unchangedSince } from './conditional.ts';
import type { Exchange } from './exchange.ts';
import { type Headers, headers } from './headers.ts';
import { PIECE_BYTES, readFirst, readInPieces, readPart, type StoredBody } from './stored-body.ts';

/** The most that one reader copies of a body that is in memory, bytes. */
const KEPT_PIECE_BYTES = 64 * 1024;
/** Smaller bodies fit into one packet with their headers, bytes. */
export const COMPRESS_MIN_BYTES = 1024;
/** Our content codings, best first. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

const COMPRESSORS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

/** Compresses a body that is compressed once for all requests: at the levels of Node, on a thread of libuv. */
export function compressOnce(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return COMPRESSORS[coding](bytes);
}

interface RepresentationOptions {
  readonly body: Uint8Array | StoredBody;
  /** The whole stored body, if it was read already. */
  readonly loaded?: Uint8Array | undefined;
  /** Reads a whole stored body to keep it while it is in a cache; undefined if there is no room for it now. */
  readonly load?: (body: StoredBody) => Promise<Uint8Array> | undefined;
  /** Without quotes. The same for the same bytes in every container. */
  readonly etag: string;
  /** Ms since the epoch. `Last-Modified` follows from it, see `confirm`. */
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
  /** The `Last-Modified` that is not sent yet, ms. */
  #unsettled: number | undefined;
  /** The `Last-Modified` that is sent, ms. */
  #lastModified: number | undefined;
  /** Called when a body was kept or a compressed form was added. A stored body is only kept if this is set. */
  onGrow: (() => void) | undefined;
  /** The whole body, if it is in memory. */
  #bytes: Uint8Array | undefined;
  #size = 0;

  constructor({ loaded, ...options }: RepresentationOptions) {
    this.#options = options;
    this.#identity = this.#variant(undefined);
    const { body } = options;
    const isHeld = body instanceof Uint8Array;
    this.#bytes = isHeld ? body : loaded;
    if (this.#bytes !== undefined) this.#fill(this.#identity, isHeld ? body : this.#bodyOf(0, body.size));
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
   * Confirms that this version was current at a time (ms; now unless given). Once that time is not before the date of
   * `settledAt`, the answers have a `Last-Modified`.
   */
  confirm(time?: number): void {
    const lastModified = this.#unsettled;
    if (lastModified === undefined || (time ?? Date.now()) < lastModified) return;
    this.#unsettled = undefined;
    this.#lastModified = lastModified;
    for (const variant of [this.#identity, ...this.#encoded.values()]) addLastModified(variant, lastModified);
  }

  /** Call it when this is in no cache: forgets a stored body, whose running answers read it again piece by piece. */
  release(): void {
    if (this.#options.body instanceof Uint8Array) return;
    this.onGrow = undefined;
    this.#bytes = undefined;
    this.#identity.full = undefined;
    this.#size = 0;
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
    const { body } = this.#options;
    if (body instanceof Uint8Array)
      return variant.pending ?? this.#await(variant, this.#encode(variant, body));
    const answer = { status: 200, headers: variant.headers };
    // The first byte is read, so that a file which cannot be read is refused.
    if (isHead)
      return readFirst(body, Math.min(1, body.size)).then(() => ({
        ...answer,
        body: this.#bodyOf(0, body.size),
      }));
    return this.#load(body) ?? this.#stream(answer, body, { start: 0, end: body.size });
  }

  /** Loads a stored body, once for all who ask meanwhile; undefined if it must be read for each of them. */
  #load(body: StoredBody): Promise<Answer> | undefined {
    const variant = this.#identity;
    if (variant.pending !== undefined) return variant.pending;
    const loading = this.onGrow && this.#options.load?.(body);
    return (
      loading &&
      this.#await(
        variant,
        loading.then((bytes) => this.#keep(bytes)),
      )
    );
  }

  #await(variant: Variant, answer: Promise<Answer>): Promise<Answer> {
    variant.pending = answer.finally(() => {
      variant.pending = undefined;
    });
    return variant.pending;
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

  /** Keeps a stored body, unless this has left its cache meanwhile. */
  #keep(bytes: Uint8Array): Answer {
    this.#bytes = bytes;
    const answer = this.#fill(this.#identity, this.#bodyOf(0, bytes.length));
    if (this.onGrow === undefined) this.release();
    return answer;
  }

  #fill(variant: Variant, body: Uint8Array | KeptBody): Answer {
    const full = { status: 200, headers: variant.headers, body };
    variant.full = full;
    this.#size += bodySize(body)!;
    this.onGrow?.();
    return full;
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
    const { body } = this.#options;
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
    if (this.#bytes !== undefined || body instanceof Uint8Array)
      return { ...partial, body: this.#bodyOf(start, end) };
    if (end - start <= PIECE_BYTES)
      return readPart(body, start, end).then((bytes) => ({ ...partial, body: bytes }));
    const loading = this.#load(body);
    if (loading === undefined) return this.#stream(partial, body, part);
    return loading.then(() => ({ ...partial, body: this.#bodyOf(start, end) }));
  }

  /** A part of the body, which holds no more than a piece of a stored one. */
  #bodyOf(start: number, end: number): Uint8Array | KeptBody {
    const { body } = this.#options;
    if (body instanceof Uint8Array) return body.subarray(start, end);
    const bytes = this.#bytes;
    if (bytes !== undefined && bytes.length <= PIECE_BYTES) return bytes.subarray(start, end);
    if (bytes !== undefined && end - start <= PIECE_BYTES) return bytes.slice(start, end);
    return {
      size: end - start,
      bytes: () => this.#bytes?.subarray(start, end),
      from: (sent) => this.#pieces(body, start + sent, end),
    };
  }

  /** Reads the first piece before the status is sent, so that a failure is still answered as an error. */
  async #stream(
    answer: Pick<Answer, 'status' | 'headers'>,
    body: StoredBody,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Answer> {
    const pieces = readInPieces(body, start, end);
    const first = await pieces.next();
    return { ...answer, body: { size: end - start, chunks: prependChunk(first, pieces) } };
  }

  /**
   * The pieces are copies, because a slow reader of the body itself would hold all of it after it has left the cache. They are
   * small, because many clients may read a body that is in the cache.
   */
  async *#pieces(body: StoredBody, start: number, end: number): AsyncGenerator<Uint8Array> {
    let at = start;
    const buffer = new Uint8Array(Math.min(KEPT_PIECE_BYTES, end - start));
    while (this.#bytes !== undefined && at < end) {
      const piece = buffer.subarray(0, end - at);
      piece.set(this.#bytes.subarray(at, at + piece.length));
      at += piece.length;
      yield piece;
    }
    yield* readInPieces(body, at, end);
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
