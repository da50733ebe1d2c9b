import { Dicer } from '@fastify/busboy';
import { copyBytes } from '../copy-bytes.ts';
import { Refusal } from '../refusals.ts';
import { headerTooLong, type PartFields, type PartHeader, readPartHeader } from './part-header.ts';

/**
 * The parser is given at most this much at once, bytes: where a piece is cut, it copies what it has of a part.
 * As much may be read without the content of a part beginning.
 */
const SLICE = 64 * 1024;

/** A part whose content is being read. */
export interface OpenPart {
  /** The most bytes it may have. */
  readonly limit: number;
  /** What is said where it has more. */
  tooLarge(): Refusal;
  /** Takes the whole content, which stays valid as long as the body. May throw a Refusal. */
  complete(bytes: Uint8Array): void;
}

type PartStream = Dicer.PartStream;

/**
 * Finds the parts of a multipart body in the buffer in which it is collected, while it arrives.
 *
 * The content of the parts is moved together at the front of that buffer. It is a part of what has been read, in the
 * same order, so it never reaches what has not, and a body needs no memory but its own.
 *
 * It stands on Dicer, the parser below Busboy: Busboy passes over parts whose header it does not like, which must be
 * refused, and takes names apart in its own way. Of a header it passes over what follows a line without a colon. The
 * streams that Dicer makes are read where they are filled, so parts come one after the other and a refusal is thrown
 * through Dicer, which stops it at once.
 */
export class MultipartParser {
  readonly #begin: (header: PartHeader) => OpenPart;
  readonly #dicer: Dicer;
  /** Dicer has seen the last boundary, or will not see it any more. */
  readonly #closed: Promise<void>;
  #stream: PartStream | undefined;
  /** Undefined until the header of the part has been read. */
  #part: OpenPart | undefined;
  /** Bytes read, in whole slices, since the last content or header of a part. */
  #between = 0;
  /** The buffer from the start of the body on. */
  #front: Uint8Array | undefined;
  /** Where the content of the current part lies in `#front`. */
  #start = 0;
  #end = 0;

  /** @param begin is told of each part once its header has been read; may throw a Refusal */
  constructor(boundary: string, begin: (header: PartHeader) => OpenPart) {
    this.#begin = begin;
    // Streams that never fill up: else Dicer would go on from an event of theirs, where nobody catches a refusal.
    const options = { boundary, partHwm: 4 * SLICE };
    this.#dicer = new Dicer(options);
    this.#dicer.on('part', (stream: PartStream) => this.#onPart(stream));
    this.#closed = new Promise((resolve, reject) => {
      this.#dicer.on('finish', () => resolve()).on('error', reject);
    });
  }

  /**
   * Reads on. After it has thrown, the parser must not be used any more.
   * @param piece what follows the piece before, in the same buffer
   * @throws Refusal
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
   * Settles when the last part is complete. To be called once the whole body has been written.
   * @throws Refusal `invalid_body` for a body that ends too early; what `complete` throws
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
    // The parser says the same of itself.
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

  /** Keeps what the parser has found of the current part. */
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
