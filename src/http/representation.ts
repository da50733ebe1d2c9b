import { Refusal } from '../refusals.ts';
import { CODINGS, type Coding, preferredCoding } from './accept-encoding.ts';
import { type Answer, type BodyStream, refusalAnswer } from './answer.ts';
import { httpDate, matchesETag, parseRange, unchangedSince } from './conditional.ts';
import { type Headers, headers } from './headers.ts';

/** The bytes of something too large to be held, read anew for each answer. */
export interface LargeBody {
  readonly size: number;
  /** Bytes `start` (inclusive) to `end` (exclusive). */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

export interface RepresentationOptions {
  readonly body: Uint8Array | LargeBody;
  /** Names the content; without quotes. The same bytes have the same tag in every container. */
  readonly etag: string;
  /** Time of the last change, ms since the epoch. */
  readonly lastModified?: number | undefined;
  /** Another version changed in the same second, so `If-Modified-Since` cannot tell the two apart. */
  readonly isSecondShared?: boolean;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Compresses the body; without it the bytes are only sent as they are. */
  readonly compress?: ((bytes: Uint8Array, coding: Coding) => Promise<Uint8Array>) | undefined;
  /** Parts of the body may be asked for. */
  readonly ranges?: boolean;
}

/** What a request says about the form it wants; the exchange is one. */
export interface Preconditions {
  readonly isHead: boolean;
  header(name: string): string | undefined;
}

interface Variant {
  readonly etag: string;
  readonly headers: Headers;
  readonly notModified: Answer;
  full: Answer | undefined;
  pending: Promise<Answer> | undefined;
}

/** Below this size compression gains nothing: headers and body fit into one packet anyway. */
const COMPRESS_MIN_BYTES = 1024;

/**
 * One version of a resource, ready to be sent: as it is, compressed (once, when first asked for), in part,
 * or as a 304. Its answers are made once and shared by all requests.
 */
export class Representation {
  readonly #options: RepresentationOptions;
  readonly #identity: Variant;
  /** Made when first asked for: their headers take as much memory as a short body. */
  readonly #encoded = new Map<Coding, Variant>();
  readonly #isCompressible: boolean;
  /** Called when a compressed form has been added, with its size in bytes. */
  onGrow: (() => void) | undefined;
  #size: number;

  constructor(options: RepresentationOptions) {
    this.#options = options;
    this.#identity = this.#variant(undefined);
    const { body } = options;
    this.#identity.full = {
      status: 200,
      headers: this.#identity.headers,
      body: body instanceof Uint8Array ? body : stream(body, 0, body.size),
    };
    this.#size = body instanceof Uint8Array ? body.length : 0;
    this.#isCompressible = options.compress !== undefined && this.#size >= COMPRESS_MIN_BYTES;
  }

  get size(): number {
    return this.#size;
  }

  /** The quoted entity tag of the bytes as they are. */
  get etag(): string {
    return this.#identity.etag;
  }

  /** The answer to a GET or HEAD: RFC 9110 §13.2.2, order of preconditions. */
  answer(request: Preconditions): Answer | Promise<Answer> {
    const variant = this.#select(request);
    const ifNoneMatch = request.header('if-none-match');
    if (ifNoneMatch !== undefined) {
      if (matchesETag(ifNoneMatch, variant.etag)) return variant.notModified;
    } else if (this.#options.lastModified !== undefined && !this.#options.isSecondShared) {
      const since = request.header('if-modified-since');
      if (since !== undefined && unchangedSince(since, this.#options.lastModified))
        return variant.notModified;
    }
    if (this.#options.ranges && !request.isHead) {
      const range = request.header('range');
      if (range !== undefined) return this.#part(range, request);
    }
    const { body } = this.#options;
    if (!(body instanceof Uint8Array)) return startStream(variant.full!, body, request.isHead);
    if (variant.full !== undefined) return variant.full;
    variant.pending ??= this.#encode(variant).finally(() => {
      variant.pending = undefined;
    });
    return variant.pending;
  }

  #select(request: Preconditions): Variant {
    const coding = this.#isCompressible && preferredCoding(request.header('accept-encoding'));
    if (!coding) return this.#identity;
    const variant = this.#encoded.get(coding) ?? this.#variant(coding);
    this.#encoded.set(coding, variant);
    return variant;
  }

  #variant(coding: Coding | undefined): Variant {
    const { etag, lastModified, fields, compress, ranges } = this.#options;
    const quoted = coding === undefined ? `"${etag}"` : `"${etag}-${coding}"`;
    const validators = {
      ETag: quoted,
      'Last-Modified': lastModified === undefined ? undefined : httpDate(lastModified),
      Vary: compress === undefined ? undefined : 'Accept-Encoding',
    };
    return {
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
  }

  async #encode(variant: Variant): Promise<Answer> {
    const { body, compress } = this.#options;
    const coding = CODINGS.find((name) => this.#encoded.get(name) === variant)!;
    try {
      const bytes = await compress!(body as Uint8Array, coding);
      variant.full = { status: 200, headers: variant.headers, body: bytes };
      this.#size += bytes.length;
      this.onGrow?.();
      return variant.full;
    } catch {
      // Compression only saves bytes: where the pool is full, the answer is better sent as it is.
      return this.#identity.full!;
    }
  }

  #part(range: string, request: Preconditions): Answer | Promise<Answer> {
    const { body } = this.#options;
    const size = body instanceof Uint8Array ? body.length : body.size;
    const full = this.#identity.full!;
    const ifRange = request.header('if-range');
    // Compared strongly (RFC 9110 §13.1.5). No date is: two versions may share its second.
    const isOther = ifRange !== undefined && ifRange !== this.#identity.etag;
    const part = isOther ? undefined : parseRange(range, size);
    if (part === undefined) return body instanceof Uint8Array ? full : startStream(full, body);
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
    return startStream({ ...partial, body: stream(body, start, end) }, body);
  }
}

/**
 * Reads the first piece of a large body before its status is sent: what cannot be read is still answered as what it is.
 * @throws what reading throws
 */
async function startStream(answer: Answer, body: LargeBody, isHead = false): Promise<Answer> {
  const { size, chunks } = answer.body as BodyStream;
  const pieces = (isHead ? body.read(0, Math.min(1, body.size)) : chunks)[Symbol.asyncIterator]();
  const first = await pieces.next();
  const cancel = () => void pieces.return?.().catch(() => {});
  if (!isHead) return { ...answer, body: { size: size!, chunks: prependChunk(first, pieces), cancel } };
  cancel();
  return answer;
}

/** All pieces, of which the first has been read. */
async function* prependChunk(
  first: IteratorResult<Uint8Array>,
  pieces: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  try {
    for (let next = first; !next.done; next = await pieces.next()) yield next.value;
  } finally {
    await pieces.return?.();
  }
}

function stream(body: LargeBody, start: number, end: number): BodyStream {
  return {
    size: end - start,
    // Each answer reads for itself.
    get chunks() {
      return body.read(start, end);
    },
  };
}
