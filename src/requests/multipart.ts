import { isUtf8 } from 'node:buffer';
import { fileNameFault, shownFileName } from '../feeds/file-names.ts';
import { largestRequestBytes, MAX_FILES_PER_REQUEST, MAX_TEXT_BYTES } from '../feeds/limits.ts';
import type { PictureType } from '../feeds/note-types.ts';
import { ALT_LENGTH, oneLine } from '../feeds/text.ts';
import { attachment, attachmentRefusal, withBlame } from '../ingest/submission.ts';
import { Refusal } from '../refusals.ts';
import { type FeedLimits, pictureRefusal } from '../writing/limits.ts';
import type { BodyRequest } from './bodies.ts';
import { boundaryOf, isTextPartType, pictureTypeOf } from './content-type.ts';
import { ArrivingBody, MultipartParser, type OpenPart, type PartHeader } from './multipart-parser.ts';

/** Limit of an alternative text before its characters are counted, bytes. */
const MAX_ALT_BYTES = 8 * 1024;
const ALT = 'alt.';

/** What the notes of a request must obey, beyond the rules of all. */
export interface SubmissionRules {
  readonly maxImageBytes: number;
  readonly limits: FeedLimits;
}

/** A picture of a form, with an unchecked signature. */
interface Attachment {
  readonly name: string;
  readonly type: PictureType;
  /** Valid until the request is over. */
  readonly bytes: Uint8Array;
  readonly alt: string | undefined;
}

/** The content of a form: a text, pictures, or both. */
export interface Multipart {
  /** UTF-8. Valid until the request is over. */
  readonly text: Uint8Array | undefined;
  /** In the order of arrival. */
  readonly pictures: readonly Attachment[];
}

/** Throws a Refusal `too_large` if `Content-Length` is over the limit, bytes. */
export function refuseLargeBody(request: BodyRequest, limit: number): void {
  if ((request.contentLength ?? 0) > limit) throw tooLarge('The body', limit);
}

/**
 * Reads a form (docs/specification.md, "Multipart parts"). Refuses the first error at once.
 * @throws Refusal `invalid_body`, `images_off`, `license_required`, `too_large`, `unsupported_type`; the errors of `body`
 */
export async function readMultipart(request: BodyRequest, rules: SubmissionRules): Promise<Multipart> {
  const form = new Form(rules);
  const parser = new MultipartParser(boundaryOf(request.header('content-type')), (header) =>
    form.begin(header),
  );
  const limit = largestRequestBytes(rules.maxImageBytes);
  for await (const piece of new ArrivingBody((onPiece) => request.body(limit, onPiece))) parser.write(piece);
  await parser.end();
  return form.finish();
}

type File = Omit<Attachment, 'alt'>;

/** Checks the parts of a form one by one; assistants' tools use it for their text and pictures. */
export class Form {
  readonly #rules: SubmissionRules;
  #hasText = false;
  #text: Uint8Array | undefined;
  /** By name; undefined until the content is complete. */
  readonly #files = new Map<string, File | undefined>();
  readonly #alts = new Map<string, string | undefined>();

  constructor(rules: SubmissionRules) {
    this.#rules = rules;
  }

  /** Throws a Refusal for a part that is not allowed. */
  begin(header: PartHeader): OpenPart {
    if (header.name === 'text') return this.#beginText(header);
    if (header.name === 'file') return this.#beginFile(header);
    if (header.name.startsWith(ALT)) return this.#beginAlt(header.name.slice(ALT.length));
    const shown = shownFileName(header.name);
    throw invalid(`The part "${shown}" is none of text, file and alt.<file name>.`);
  }

  /** Throws a Refusal if the parts do not fit together. */
  finish(): Multipart {
    const text = this.#text;
    for (const name of this.#alts.keys())
      if (!this.#files.has(name))
        throw attachmentRefusal(name, 'there is an alternative text, but no file of this name');
    const pictures = [...this.#files].map(([name, file]) => ({ ...file!, alt: this.#alts.get(name) }));
    if (pictures.length === 0 && text === undefined)
      throw invalid('There is nothing to post: neither a text nor a file.');
    return { text, pictures };
  }

  #beginText({ fileName, type }: PartHeader): OpenPart {
    if (this.#hasText) throw invalid('There is more than one text.');
    if (!isTextPartType(type, fileName !== undefined))
      throw new Refusal('unsupported_type', 'text: its type must be text/markdown (in UTF-8), or none.');
    this.#hasText = true;
    return {
      limit: MAX_TEXT_BYTES,
      tooLarge: () => tooLarge('The text', MAX_TEXT_BYTES),
      complete: (bytes) => {
        if (!isUtf8(bytes)) throw invalid('The text is not UTF-8.');
        this.#text = bytes;
      },
    };
  }

  #beginFile({ fileName: name = '', type: contentType }: PartHeader): OpenPart {
    const { limits, maxImageBytes } = this.#rules;
    const refusal = pictureRefusal(limits);
    if (refusal) throw withBlame(name, refusal);
    if (this.#files.size === MAX_FILES_PER_REQUEST) throw tooMany('files');
    refuseName(name);
    if (this.#files.has(name)) throw attachmentRefusal(name, 'there are two files of this name');
    const type = pictureTypeOf(contentType);
    if (type === undefined)
      throw attachmentRefusal(
        name,
        `${contentType ? 'its Content-Type' : 'its part has no Content-Type; it'} must be image/png, image/jpeg, image/gif or image/webp`,
        'unsupported_type',
      );
    this.#files.set(name, undefined);
    return {
      limit: maxImageBytes,
      tooLarge: () => tooLarge(`${attachment(name)} a picture`, maxImageBytes),
      complete: (bytes) => this.#files.set(name, { name, type, bytes }),
    };
  }

  #beginAlt(name: string): OpenPart {
    if (this.#alts.size === MAX_FILES_PER_REQUEST) throw tooMany('alternative texts');
    refuseName(name);
    if (this.#alts.has(name)) throw attachmentRefusal(name, 'there are two alternative texts');
    this.#alts.set(name, undefined);
    const field = `${attachment(name)} the alternative text`;
    return {
      limit: MAX_ALT_BYTES,
      tooLarge: () => invalid(`${field} must be at most ${ALT_LENGTH} characters long.`),
      complete: (bytes) => {
        if (!isUtf8(bytes)) throw invalid(`${field} is not UTF-8.`);
        const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
        this.#alts.set(name, oneLine(field, text, ALT_LENGTH, 'invalid_body') || undefined);
      },
    };
  }
}

function refuseName(name: string): void {
  const fault = fileNameFault(name);
  if (fault !== undefined) throw attachmentRefusal(name, fault);
}

function tooMany(what: string): Refusal {
  return invalid(`There may be at most ${MAX_FILES_PER_REQUEST} ${what}.`);
}

function tooLarge(what: string, limit: number): Refusal {
  return new Refusal('too_large', `${what} may have at most ${limit} bytes.`);
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_body', message);
}
