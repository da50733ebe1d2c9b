import type { FeedSettings } from '../feeds/feed.ts';
import { isNoteKey, MAX_KEEP_DAYS, MAX_KEEP_NOTES } from '../feeds/keeping.ts';
import { isNoteId, type NoteFile } from '../feeds/names.ts';
import type { NoteMeta } from '../feeds/note.ts';
import { tagByHand } from '../feeds/tags.ts';
import { shownOneLine } from '../feeds/text.ts';

/** The largest metadata file that is read, in bytes. */
export const MAX_METADATA_BYTES = 256 * 1024;

/** Members of other programs that are nested more deeply are left out, because no message to a thread could hold them. */
const MAX_DEPTH = 100;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Members of a metadata file besides the note's own. */
interface BesideMeta {
  /** Date of a hand-placed note, whole ms since the epoch. */
  readonly created?: number | undefined;
  /** Members that the service does not know: they belong to other programs, so a change keeps them. Undefined if none. */
  readonly others?: JsonObject | undefined;
}

/** The content of a note's metadata file. */
export interface StoredMeta extends BesideMeta {
  readonly meta: NoteMeta;
}

export const NO_META: StoredMeta = { meta: { tags: [] } };

/** The settings in `.feed.json`; empty or undefined by default. */
export type StoredSettings = Omit<FeedSettings, 'readId'>;

export const NO_SETTINGS: StoredSettings = {
  title: '',
  description: '',
  image: undefined,
  showSender: true,
  listed: false,
  keepDays: undefined,
  keepNotes: undefined,
};

/** The metadata in a text. Anything but a JSON object counts as none. */
export function parseMeta(json: string): StoredMeta {
  return metaIn(parseObject(json) ?? {});
}

/** The metadata in a JSON object. People edit it too, so a member of the wrong kind counts as unset. */
export function metaIn(fields: JsonObject): StoredMeta {
  const meta: Record<string, unknown> = {};
  for (const name in MEMBERS) {
    const value = MEMBERS[name as keyof NoteMeta](fields[SPELLED[name] ?? name]);
    if (value !== undefined) meta[name] = value;
  }
  const created = dateAsFound(fields.created);
  const others = Object.keys(fields).filter((name) => !KNOWN.has(name) && isShallow(fields[name]));
  return {
    meta: meta as unknown as NoteMeta,
    ...(created !== undefined && { created }),
    ...(others.length > 0 && { others: Object.fromEntries(others.map((name) => [name, fields[name]])) }),
  };
}

/**
 * The metadata with tags in the form that queries use, because somebody may have written the file by hand. Rows of databases are
 * used as stored, because a second table holds the same tags.
 */
export function withLowerTags({ meta, ...beside }: StoredMeta): StoredMeta {
  return { ...beside, meta: { ...meta, tags: [...new Set(meta.tags.map(tagByHand))] } };
}

function isShallow(value: unknown, depth = 1): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth < MAX_DEPTH && Object.values(value).every((member) => isShallow(member, depth + 1));
}

/** Reads each member of a note's metadata; undefined for one of the wrong kind. */
const MEMBERS: { readonly [Member in keyof NoteMeta]-?: (value: unknown) => NoteMeta[Member] } = {
  title: shownText,
  alt: shownText,
  name: shownText,
  sender: shownText,
  pixels: pixelsAsFound,
  tags: tagsAsFound,
  key: (value) => (isNoteKey(value) ? value : undefined),
  posted: postedAsFound,
  expires: dateAsFound,
  attachedTo: (value) => (typeof value === 'string' && isNoteId(value) ? value : undefined),
  unlisted: (value) => (value === true ? value : undefined),
  edited: dateAsFound,
};

/** The members that a file spells in another way. */
const SPELLED: { readonly [name: string]: string | undefined } = { attachedTo: 'attached_to' };

const KNOWN: ReadonlySet<string> = new Set([
  'created',
  ...Object.keys(MEMBERS).map((name) => SPELLED[name] ?? name),
]);

/**
 * The metadata file of a note, or undefined when there is nothing to keep. `created` is for a note whose id says no
 * date.
 */
export function serializeMeta(
  { tags, expires, attachedTo, edited, ...rest }: NoteMeta,
  { created, others }: BesideMeta = {},
): string | undefined {
  const known = {
    ...rest,
    ...(tags.length > 0 && { tags }),
    ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
    ...(attachedTo !== undefined && { attached_to: attachedTo }),
    ...(edited !== undefined && { edited: new Date(edited).toISOString() }),
    ...(created !== undefined && { created: new Date(created).toISOString() }),
  };
  return json(known, others);
}

/** The settings in a `.feed.json`. A member of the wrong kind counts as unset. */
export function settingsIn(fields: JsonObject): StoredSettings {
  return {
    title: shownText(fields.title) ?? '',
    description: shownText(fields.description) ?? '',
    image: typeof fields.image === 'string' ? (fields.image as NoteFile) : undefined,
    // Older folders spell it in the second way.
    showSender: [fields.show_sender, fields.showSender].find((one) => typeof one === 'boolean') ?? true,
    listed: fields.listed === true,
    ...keepAsFound(fields.keep),
  };
}

/**
 * The members of a `.feed.json` that are not settings of the service, with the spelling that the reference reads; undefined
 * when there are none.
 */
export function otherSettings(fields: JsonObject): JsonObject | undefined {
  const { title, description, image, show_sender, listed, keep, ...others } = fields;
  return Object.keys(others).length > 0 ? others : undefined;
}

/** The `.feed.json` of a feed; undefined if all settings have their defaults. */
export function serializeSettings(
  { title, description, image, showSender, listed, keepDays: days, keepNotes: notes }: StoredSettings,
  others?: JsonObject,
): string | undefined {
  const known = {
    ...(title !== '' && { title }),
    ...(description !== '' && { description }),
    image,
    ...(!showSender && { show_sender: false }),
    ...(listed && { listed }),
    ...((days ?? notes) !== undefined && { keep: { days, notes } }),
    ...(others?.showSender !== undefined && { showSender }),
  };
  return json(known, others);
}

/** Settings as a `.feed.json` would bring them back, so that every backend shows odd characters in the same way. */
export function settingsAsStored(settings: StoredSettings): StoredSettings {
  return settingsIn(parseObject(serializeSettings(settings) ?? '') ?? {});
}

/**
 * Undefined when no member has a value. Without the `others` if they are nested too deeply for `JSON.stringify`, or would make
 * a file that is too large to be read.
 */
function json(known: JsonObject, others?: JsonObject): string | undefined {
  try {
    const text = others && JSON.stringify({ ...others, ...known });
    if (text !== undefined && Buffer.byteLength(text) <= MAX_METADATA_BYTES) return text;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return Object.values(known).some((value) => value !== undefined) ? JSON.stringify(known) : undefined;
}

/** The object that a JSON text is; undefined for any other text. */
export function parseObject(json: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function postedAsFound(value: unknown): NoteMeta['posted'] {
  const { hash, attachments } = (value ?? {}) as Record<string, unknown>;
  if (typeof hash !== 'string') return undefined;
  const isList = Array.isArray(attachments) && attachments.every((one) => typeof one === 'string');
  return { hash, ...(isList && { attachments: attachments as NoteFile[] }) };
}

function keepAsFound(value: unknown): Pick<StoredSettings, 'keepDays' | 'keepNotes'> {
  const { days, notes } = (value ?? {}) as Record<string, unknown>;
  return {
    keepDays: isCount(days) && days <= MAX_KEEP_DAYS ? days : undefined,
    keepNotes: isCount(notes) && notes <= MAX_KEEP_NOTES ? notes : undefined,
  };
}

function dateAsFound(value: unknown): number | undefined {
  const date = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

function pixelsAsFound(value: unknown): NoteMeta['pixels'] {
  const { width, height, bytes } = (value ?? {}) as Record<string, unknown>;
  if (!isCount(width) || !isCount(height) || !isCount(bytes)) return undefined;
  return { width, height, bytes };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function shownText(value: unknown): string | undefined {
  // JSON can hold a lone surrogate, and strict readers of JSON give up on ours if it does.
  const text = typeof value === 'string' ? shownOneLine(value).toWellFormed().trim() : '';
  return text === '' ? undefined : text;
}

/** An array of tags, or one string with commas between them. None is refused, because people edit the file, too. */
function tagsAsFound(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return [...new Set(list.map(shownText).filter((tag) => tag !== undefined))];
}
