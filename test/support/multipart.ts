import { Refusal } from '../../src/refusals.ts';
import type { BodyRequest } from '../../src/requests/bodies.ts';
import { type Multipart, readMultipart, type SubmissionRules } from '../../src/requests/multipart.ts';
import { NO_LIMITS } from './storing.ts';

export const BOUNDARY = '----a-Boundary';
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** A part as it is sent: its header lines and its bytes. */
export interface SentPart {
  readonly header: string;
  readonly content: string | Uint8Array;
}

/** A plain field. */
export function field(name: string, content: string | Uint8Array): SentPart {
  return { header: `Content-Disposition: form-data; name="${name}"`, content };
}

/** A file part; without a type its header has none. */
export function file(
  name: string,
  fileName: string,
  type: string | undefined,
  content: string | Uint8Array,
): SentPart {
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${fileName}"`;
  return { header: type === undefined ? disposition : `${disposition}\r\nContent-Type: ${type}`, content };
}

/** The bytes of a multipart body. */
export function formBody(parts: readonly SentPart[], boundary: string = BOUNDARY): Buffer<ArrayBuffer> {
  const bytes = parts.flatMap(({ header, content }) => [
    Buffer.from(`--${boundary}\r\n${header}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...bytes, Buffer.from(`--${boundary}--\r\n`)]);
}

const UNREAD = 0xaa;

/**
 * A request whose body arrives in one buffer in pieces of the given sizes, over and over; each in a turn of its own.
 * Fails when bytes that have not arrived are written.
 */
export class PiecewiseRequest implements BodyRequest {
  readonly contentLength = undefined;
  /** How many bytes of the body were handed over. */
  arrived = 0;
  readonly #body: Uint8Array;
  readonly #sizes: readonly number[];
  readonly #type: string | undefined;

  constructor(
    body: Uint8Array,
    sizes: readonly number[] = [512 * 1024],
    type: string | undefined = FORM_TYPE,
  ) {
    this.#body = body;
    this.#sizes = sizes;
    this.#type = type;
  }

  header(name: string): string | undefined {
    return name === 'content-type' ? this.#type : undefined;
  }

  async body(limit: number, onPiece: (piece: Uint8Array) => void): Promise<Uint8Array> {
    const bytes = new Uint8Array(new SharedArrayBuffer(this.#body.length)).fill(UNREAD);
    const unread = Buffer.alloc(bytes.length, UNREAD);
    for (let turn = 0; this.arrived < this.#body.length; turn++) {
      const start = this.arrived;
      const piece = this.#body.subarray(start, start + this.#sizes[turn % this.#sizes.length]!);
      this.arrived += piece.length;
      if (this.arrived > limit) throw new Refusal('too_large', `at most ${limit}`);
      bytes.set(piece, start);
      onPiece(bytes.subarray(start, this.arrived));
      if (Buffer.compare(bytes.subarray(this.arrived), unread.subarray(this.arrived)) !== 0)
        throw new Error('bytes that have not arrived were written');
      await new Promise(setImmediate);
    }
    return bytes;
  }
}

/** Small limits, for tests of the reader. */
export const RULES: SubmissionRules = { maxImageBytes: 1000, limits: NO_LIMITS };

/** Reads a form of these parts. */
export function read(parts: readonly SentPart[], rules: SubmissionRules = RULES): Promise<Multipart> {
  return readMultipart(new PiecewiseRequest(formBody(parts)), rules);
}

/** Bytes as the text that they are. */
export function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString();
}

/** A picture under a name, for readers that do not look at it. */
export function png(name: string, content: string | Uint8Array = 'PNG'): SentPart {
  return file('file', name, 'image/png', content);
}

/** So many of what `make` makes. */
export function repeated<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
