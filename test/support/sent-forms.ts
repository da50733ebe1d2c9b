import { createHash, randomBytes, randomInt } from 'node:crypto';
import { FORM_TYPE, field, file, formBody } from './multipart.ts';
import { picture } from './pictures.ts';
import { ask } from './service.ts';

/** A form made to be posted. */
export interface SentForm {
  /** Tells it from every other one; all its notes have it as their only tag. */
  readonly tag: string;
  readonly feed: string;
  readonly headers: Record<string, string>;
  readonly bytes: Buffer;
}

/** What a picture of a form must become. */
interface MadePicture {
  readonly name: string;
  readonly alt: string;
  readonly size: number;
  readonly sha256: string;
}

interface MadeForm {
  readonly feed: string;
  readonly hasText: boolean;
  readonly pictures: readonly MadePicture[];
}

/** A note as a list of the service shows it. */
interface ListedNote {
  readonly id: string;
  readonly file: string;
  readonly file_url: string;
  readonly size: number;
  readonly content?: string;
  readonly name?: string;
  readonly alt?: string;
}

const PICTURE_SIZES = [40, 4_000, 70_000, 200_000];
const MAX_PICTURES = 4;

/** Makes forms of one to four pictures, most of them with a text, and remembers what they must become. */
export class SentForms {
  readonly #made = new Map<string, MadeForm>();

  get size(): number {
    return this.#made.size;
  }

  /** A form unlike all before. */
  next(feed: string): SentForm {
    const tag = `form-${this.#made.size}`;
    const contents = Array.from({ length: randomInt(1, MAX_PICTURES + 1) }, pictureBytes);
    const pictures = contents.map((bytes, i) => ({
      name: `${tag} ${i}.png`,
      alt: `alt ${i}`,
      size: bytes.length,
      sha256: sha256(bytes),
    }));
    const made = { feed, hasText: randomInt(8) > 0, pictures };
    this.#made.set(tag, made);
    const parts = pictures.flatMap(({ name, alt }, i) => [
      file('file', name, 'image/png', contents[i]!),
      field(`alt.${name}`, alt),
    ]);
    if (made.hasText)
      parts.unshift(
        field(
          'text',
          textOf(
            tag,
            pictures.map(({ name }) => `<${name}>`),
          ),
        ),
      );
    return { tag, feed, headers: { 'content-type': FORM_TYPE, 'x-note-tags': tag }, bytes: formBody(parts) };
  }

  /** Whether the notes with that tag in that feed, in any order, are just what the form was to become. */
  async isWhole(tag: string, feed: string, notes: readonly ListedNote[]): Promise<boolean> {
    const form = this.#made.get(tag);
    if (form?.feed !== feed) return false;
    const oldestFirst = notes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const pictures = oldestFirst.filter(({ content }) => content === undefined);
    const found = await Promise.all(
      pictures.map(async ({ name, alt, size, file_url: url }) => ({
        name,
        alt,
        size,
        sha256: sha256((await ask(url)).bytes),
      })),
    );
    const files = pictures.map(({ file }) => `<${file}>`);
    const texts = oldestFirst.slice(pictures.length).map(({ content }) => content);
    const wanted = form.hasText ? [textOf(tag, files)] : [];
    return JSON.stringify([found, texts]) === JSON.stringify([form.pictures, wanted]);
  }
}

function textOf(tag: string, destinations: readonly string[]): string {
  return `${tag}\n\n${destinations.map((destination) => `![](${destination})`).join('\n')}`;
}

function pictureBytes(): Buffer<ArrayBuffer> {
  const bytes = randomBytes(PICTURE_SIZES[randomInt(PICTURE_SIZES.length)]!);
  bytes.set(picture('png', 16));
  return bytes;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
