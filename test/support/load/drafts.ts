import { mediaType, NOTE_TYPES, type NoteType } from '../../../src/feeds/note-types.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../multipart.ts';
import { picture } from '../pictures.ts';
import { type Load, sha256 } from './write-kind.ts';

/** A note as the service must show it. */
export interface Note {
  readonly type: string;
  /** A text, in which the names of pictures stand for those of their files; of a picture the hash. */
  readonly content: string;
  readonly title: string;
  readonly alt?: string | undefined;
  readonly name?: string | undefined;
  readonly tags: readonly string[];
  readonly key?: string | undefined;
  /** ISO time. */
  readonly expires_at?: string | undefined;
}

/** A body that makes notes, and the notes in the order in which they are made. */
export interface Draft {
  /** All its notes have it as a tag or in their bytes. */
  readonly mark: string;
  readonly notes: readonly Note[];
  readonly body: Buffer<ArrayBuffer>;
  readonly headers: Record<string, string>;
}

const TEXT_LENGTHS = [0, 0, 400, 8_000, 40_000];
/** One block of a disk and less, several blocks, a worker's job, several segments of a socket. */
const PICTURE_LENGTHS = [60, 4_000, 20_000, 70_000, 200_000];
const MAX_PICTURES = 3;
/** Behind the signatures of all types of pictures. */
const MARK_AT = 16;
export const TEXT = 'the text';
const FILLER = 'some words of a note\n';

interface Given {
  readonly type?: NoteType;
  readonly key?: string | undefined;
  /** ISO time. */
  readonly expires?: string | undefined;
}

/** A text or a picture unlike all before, half of them with metadata. */
export function draftOf(load: Load, { key, expires, ...given }: Given = {}): Draft {
  const { random } = load;
  const mark = `s${load.next()}`;
  const type = given.type ?? (random.oneIn(2) ? 'md' : random.oneOf(NOTE_TYPES.slice(1)));
  const { bytes, content } = bytesOf(load, mark, type);
  const title = `title ä ${mark}`;
  const meta = {
    ...(type !== 'md' && { alt: `alt ${mark}`, name: `${mark}.bin` }),
    tags: ['red', mark],
  };
  const isBare = random.oneIn(2);
  const bare: Note = { type: mediaType(type), content, title: '', tags: [], key, expires_at: expires };
  const note = isBare ? { ...bare, title: derivedTitle(bare) } : { ...bare, title, ...meta };
  const headers = {
    'content-type': note.type,
    ...sharedHeaders({ key, expires }),
    ...(!isBare && { 'x-note-title': asSent(title), 'x-note-tags': meta.tags.join() }),
    ...(note.alt !== undefined && { 'x-note-alt': note.alt }),
    ...(note.name !== undefined && { 'x-note-name': note.name }),
  };
  return { mark, notes: [note], body: bytes, headers };
}

/** A form of one or several pictures, most of them with a text that refers to them; sometimes two pictures have the same bytes. */
export function formOf(
  load: Load,
  {
    key,
    expires,
    mark = `s${load.next()}`,
    hasText = !load.random.oneIn(8),
  }: Given & { mark?: string; hasText?: boolean } = {},
): Draft {
  const { random } = load;
  const all = { tags: [mark], expires_at: expires };
  const first = bytesOf(load, mark, 'png');
  const pictures = Array.from({ length: 1 + random.below(MAX_PICTURES) }, (_, n) => {
    const { bytes, content } = n === 0 || random.oneIn(4) ? first : bytesOf(load, mark, 'png');
    const name = `${mark} ${load.next()}.png`;
    const alt = `alt of ${name}`;
    const isFirst = n === 0 && !hasText;
    const note: Note = { type: 'image/png', content, title: alt, alt, name, ...all, ...(isFirst && { key }) };
    return { note, parts: [file('file', name, 'image/png', bytes), field(`alt.${name}`, alt)] };
  });
  const notes = pictures.map(({ note }) => note);
  const parts: SentPart[] = pictures.flatMap((one) => one.parts);
  if (hasText) {
    const content = `${textOf(load, mark)}\n\n${notes.map(({ name }) => `![](<${name}>)`).join('\n')}`;
    parts.unshift(field('text', content));
    const made: Note = { type: 'text/markdown', content, title: '', ...all, key };
    notes.push({ ...made, title: derivedTitle(made) });
  }
  const headers = {
    'content-type': FORM_TYPE,
    'x-note-tags': mark,
    ...sharedHeaders({ key, expires }),
  };
  return { mark, notes, body: formBody(parts), headers };
}

/** The same note with other bytes. */
export function rewritten(load: Load, mark: string, old: Note): { note: Note; bytes: Buffer<ArrayBuffer> } {
  const type = NOTE_TYPES.find((one) => mediaType(one) === old.type)!;
  const { bytes, content } = bytesOf(load, mark, type);
  return { note: changed(old, { content }), bytes };
}

/** The same note with other members; an empty title is that of a note to which nobody has given one. */
export function changed(old: Note, members: Partial<Note>): Note {
  const hasTitle = members.title !== undefined ? members.title !== '' : old.title !== derivedTitle(old);
  const note = { ...old, ...members };
  return hasTitle ? note : { ...note, title: derivedTitle(note) };
}

/** Bytes of a note, and what stands for them in a `Note`. */
function bytesOf(load: Load, mark: string, type: NoteType) {
  if (type === 'md') {
    const content = textOf(load, mark);
    return { bytes: Buffer.from(content), content };
  }
  const bytes = picture(type, load.random.oneOf(PICTURE_LENGTHS), load.next());
  bytes.write(`${mark} ${load.next()} `, MARK_AT);
  return { bytes, content: sha256(bytes) };
}

function textOf(load: Load, mark: string): string {
  return `${mark} ${load.next()}\n\n${FILLER.repeat(load.random.oneOf(TEXT_LENGTHS) / FILLER.length)}`;
}

/** The mark in bytes; undefined if nobody has made them. */
export function markIn(bytes: Buffer): string | undefined {
  return [0, MARK_AT]
    .map((at) => /^s\d+(?= )/.exec(bytes.toString('latin1', at, at + 20))?.[0])
    .find(Boolean);
}

/** The title of a note to which nobody has given one. */
function derivedTitle({ type, content, alt, name }: Note): string {
  return type === 'text/markdown' ? content.split('\n', 1)[0]! : (alt ?? name ?? '');
}

/** What tells a note from the others of its request, as long as it is there. */
export function slotOf({ type, name }: Pick<Note, 'type' | 'name'>): string {
  return type === 'text/markdown' ? TEXT : (name ?? 'a picture');
}

function sharedHeaders({ key, expires }: Given): Record<string, string> {
  return {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(expires !== undefined && { 'x-note-expires': expires }),
  };
}

/** A field as `fetch` takes it, a character for each byte of UTF-8. */
function asSent(value: string): string {
  return Buffer.from(value).toString('latin1');
}
