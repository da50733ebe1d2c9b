import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Dicer } from '@fastify/busboy';
import { decodeFormName } from '../feeds/file-names.ts';
import { extendedText } from '../feeds/header-text.ts';
import { copyBytes } from '../http/buffers.ts';
import { Refusal } from '../refusals.ts';
import { parseParameters } from './content-type.ts';

/** Limit per call of the parser, which copies cut parts, and of the bytes between the contents of parts. */
const SLICE = 64 * 1024;

const NO_PARTS = 'The body does not begin with the boundary that Content-Type names.';

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
 * Uses Dicer, the parser of Busboy. Busboy itself skips parts with bad headers, which must be refused, and decodes names in its
 * own way. (Dicer skips the header lines after one without a colon.) The streams of Dicer are read as they are filled, so parts
 * come in order. A refusal is thrown through Dicer, which stops it at once.
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
      if (this.#between > SLICE) throw this.#stream === undefined ? invalid(NO_PARTS) : headerTooLong();
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
    if (this.#part === undefined) throw invalid('A part has no header.');
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

/** Limit per turn of the event loop, bytes: parsing takes up to 1 ms. */
const TURN_BYTES = 512 * 1024;

/** Hands over the pieces of a body as they arrive, in order in one buffer; settles at the end. */
type Receive = (onPiece: (piece: Uint8Array) => void) => Promise<unknown>;

/**
 * Spreads an arriving body over turns of the event loop, because a fast connection brings 50 MB in one turn. Pending bytes
 * are one view, however small the client's chunks are.
 */
export class ArrivingBody {
  #waiting: Uint8Array = new Uint8Array(0);
  #isComplete = false;
  #failure: { readonly cause: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(receive: Receive) {
    receive((piece) => this.#add(piece)).then(
      () => {
        this.#isComplete = true;
        this.#wake.resolve();
      },
      (cause) => {
        this.#failure = { cause };
        this.#wake.resolve();
      },
    );
  }

  /** Throws the error of `receive` at once, because the buffer may belong to another request afterwards. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      await this.#wake.promise;
      await nextTurn();
      if (this.#failure !== undefined) throw this.#failure.cause;
      if (this.#waiting.length === 0 && this.#isComplete) return;
      yield this.#take();
    }
  }

  #add({ buffer, byteOffset, length }: Uint8Array): void {
    const waiting = this.#waiting.length;
    const start = waiting > 0 ? this.#waiting.byteOffset : byteOffset;
    this.#waiting = new Uint8Array(buffer, start, waiting + length);
    this.#wake.resolve();
  }

  #take(): Uint8Array {
    const taken = this.#waiting.subarray(0, TURN_BYTES);
    this.#waiting = this.#waiting.subarray(TURN_BYTES);
    if (this.#waiting.length === 0 && !this.#isComplete) this.#wake = Promise.withResolvers();
    return taken;
  }
}

/** The header lines of a part by lower-case name, in order, as latin1. */
type PartFields = Readonly<Record<string, readonly string[] | undefined>>;

/** RFC 7578. */
export interface PartHeader {
  readonly name: string;
  /** Undefined for a plain field. */
  readonly fileName: string | undefined;
  readonly type: string | undefined;
}

/** A name in all its forms has 3 KB. */
const MAX_HEADER_BYTES = 8 * 1024;

/** A token (RFC 9110, section 5.6.2), because a name before a space would be skipped. */
const FIELD_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** Encodings that leave the bytes of a part as they are. */
const IDENTITY = /^(?:7bit|8bit|binary)?$/i;

/**
 * Names are UTF-8: raw with the escapes of HTML (`name="a%22b"`), as browsers, curl and most libraries send them, or in
 * extended form (`filename*=UTF-8''a%22b`, RFC 8187), which wins and has no other escapes.
 * @throws Refusal `invalid_body` for any header but one of a form field with valid names
 */
function readPartHeader(fields: PartFields): PartHeader {
  if (sizeOf(fields) > MAX_HEADER_BYTES) throw headerTooLong();
  if (!Object.keys(fields).every((name) => FIELD_NAME.test(name)))
    throw invalid('A line in the header of a part does not begin with a name and a colon.');
  const encoding = single(fields, 'content-transfer-encoding') ?? '';
  if (!IDENTITY.test(encoding.trim()))
    throw invalid('Parts must be sent as they are, without a Content-Transfer-Encoding.');
  const disposition = parseParameters(decode(single(fields, 'content-disposition') ?? ''));
  if (disposition?.value !== 'form-data')
    throw invalid('Each part must have a well-formed Content-Disposition of form-data.');
  const name = nameParameter(disposition.parameters, 'name');
  if (name === undefined) throw invalid('Each part must have a name.');
  const fileName = nameParameter(disposition.parameters, 'filename');
  return { name, fileName, type: single(fields, 'content-type') };
}

function headerTooLong(): Refusal {
  return invalid(`The header of a part must be at most ${MAX_HEADER_BYTES} bytes long.`);
}

function single(fields: PartFields, name: string): string | undefined {
  const values = fields[name] ?? [];
  if (values.length > 1) throw invalid(`A part has more than one ${name}.`);
  return values[0];
}

function nameParameter(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  const extended = parameters.get(`${name}*`);
  if (extended === undefined) {
    const plain = parameters.get(name);
    return plain === undefined ? undefined : decodeFormName(plain);
  }
  const text = extendedText(extended);
  if (text === undefined)
    throw invalid(`The ${name}* of a part must have the form UTF-8''caf%C3%A9 (RFC 8187).`);
  return text;
}

function decode(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  if (!isUtf8(bytes)) throw invalid('The name of a part is not UTF-8.');
  return bytes.toString();
}

/** The approximate length of the header: folded lines count as one. */
function sizeOf(fields: PartFields): number {
  let size = 0;
  for (const [name, values = []] of Object.entries(fields))
    for (const value of values) size += `${name}: ${value}\r\n`.length;
  return size;
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_body', message);
}
