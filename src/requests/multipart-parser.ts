import { Dicer } from '@fastify/busboy';
import { copyBytes } from '../copy-bytes.ts';
import { Refusal } from '../refusals.ts';
import { headerTooLong, type PartFields, type PartHeader, readPartHeader } from './part-header.ts';

/** Limit per call of the parser, which copies cut parts, and of the bytes between the contents of parts. */
const SLICE = 64 * 1024;

/** A part whose content is being read. */
export interface OpenPart {
  /** Bytes. */
  readonly limit: number;
  tooLarge(): Refusal;
  /** Takes the whole content, valid as long as the body. May throw a Refusal. */
  complete(bytes: Uint8Array): void;
}

type PartStream = Dicer.PartStream;

/**
 * Parses a multipart body while it arrives, in the buffer in which it is collected.
 *
 * The contents of the parts are compacted in place at the start of that buffer. They are never longer than the bytes
 * already read, so no further memory is needed.
 *
 * Uses Dicer, the parser of Busboy, because Busboy skips parts with bad headers, which must be refused, and decodes names
 * in its own way. (Dicer skips the header lines after one without a colon.) Its streams are read as they are filled, so
 * parts come in order, and a refusal is thrown through Dicer and stops it at once.
 */
export class MultipartParser {
  readonly #begin: (header: PartHeader) => OpenPart;
  readonly #dicer: Dicer;
  /** Settles when Dicer has found the last boundary, or failed. */
  readonly #closed: Promise<void>;
  #stream: PartStream | undefined;
  /** Undefined before the end of the part's header. */
  #part: OpenPart | undefined;
  /** Bytes since the last content or header of a part, in slices. */
  #between = 0;
  /** The buffer from the start of the body on. */
  #front: Uint8Array | undefined;
  /** The content of the current part in `#front`. */
  #start = 0;
  #end = 0;

  /** @param begin gets the header of each part; may throw a Refusal */
  constructor(boundary: string, begin: (header: PartHeader) => OpenPart) {
    this.#begin = begin;
    // A large highWaterMark, because Dicer would resume from a stream event, outside of our try and catch.
    const options = { boundary, partHwm: 4 * SLICE };
    this.#dicer = new Dicer(options);
    this.#dicer.on('part', (stream: PartStream) => this.#onPart(stream));
    this.#closed = new Promise((resolve, reject) => {
      this.#dicer.on('finish', () => resolve()).on('error', reject);
    });
  }

  /**
   * @param piece the next bytes in the same buffer
   * @throws Refusal; the parser is unusable afterwards
   */
  write(piece: Uint8Array): void {
    const { buffer, byteOffset, length } = piece;
    this.#front ??= new Uint8Array(buffer, byteOffset);
    for (let at = 0; at < length; at += SLICE) {
      const slice = Buffer.from(buffer, byteOffset + at, Math.min(SLICE, length - at));
      this.#dicer.write(slice);
      this.#drain();
      this.#between = this.#part === undefined ? this.#between + slice.length : 0;
      if (this.#between > SLICE) throw this.#stream === undefined ? noParts() : headerTooLong();
    }
  }

  /**
   * Completes the last part. Call it when the whole body is written.
   * @throws Refusal `invalid_body` for a body that ends too early; the refusals of `complete`
   */
  async end(): Promise<void> {
    this.#dicer.end();
    try {
      await this.#closed;
    } catch (cause) {
      throw new Refusal('invalid_body', 'The multipart body ends too early.', { cause });
    }
    this.#complete();
  }

  #onPart(stream: PartStream): void {
    this.#complete();
    this.#stream = stream;
    stream.on('header', (fields) => {
      this.#part = this.#begin(readPartHeader(fields as PartFields));
      this.#between = 0;
    });
    // The parser emits the same error.
    stream.on('error', () => {});
  }

  #complete(): void {
    if (this.#stream === undefined) return;
    this.#drain();
    if (this.#part === undefined) throw new Refusal('invalid_body', 'A part has no header.');
    this.#part.complete(this.#front!.subarray(this.#start, this.#end));
    this.#part = undefined;
    this.#start = this.#end;
  }

  /** Keeps the new content of the current part. */
  #drain(): void {
    for (let chunk = this.#stream?.read(); chunk != null; chunk = this.#stream?.read()) this.#keep(chunk);
  }

  #keep(chunk: Buffer): void {
    const part = this.#part!;
    if (this.#end - this.#start + chunk.length > part.limit) throw part.tooLarge();
    copyBytes(chunk, this.#front!, this.#end);
    this.#end += chunk.length;
  }
}

function noParts(): Refusal {
  return new Refusal('invalid_body', 'The body does not begin with the boundary that Content-Type names.');
}
