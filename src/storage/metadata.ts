import type { NoteFile } from '../feeds/names.ts';
import { shownOneLine } from '../feeds/text.ts';
import type { FeedSettings, NoteMeta } from './storage.ts';

/** What a note's metadata file says. */
export interface StoredMeta {
  readonly meta: NoteMeta;
  /** Date of a hand-placed note, whole ms since the epoch. */
  readonly created: number | undefined;
}

export const NO_META: StoredMeta = { meta: { tags: [] }, created: undefined };

/** What `.feed.json` says; empty or undefined where it says nothing. */
export type StoredSettings = Omit<FeedSettings, 'readId'>;

export const NO_SETTINGS: StoredSettings = { title: '', description: '', image: undefined, showSender: true };

/** Reads a metadata file. People edit it too, so a member of the wrong kind, or all of it, counts as unset. */
export function parseMeta(json: string): StoredMeta {
  const fields = parseObject(json);
  if (!fields) return NO_META;
  const created = typeof fields.created === 'string' ? Date.parse(fields.created) : Number.NaN;
  return {
    meta: {
      ...textMember('title', fields.title),
      ...textMember('alt', fields.alt),
      ...textMember('name', fields.name),
      ...textMember('sender', fields.sender),
      tags: tagsOf(fields.tags),
    },
    created: Number.isNaN(created) ? undefined : created,
  };
}

/**
 * The metadata file of a note, or undefined when there is nothing to keep. `created` (ms since the epoch) is the
 * date of a note whose id says none.
 */
export function serializeMeta({ tags, ...texts }: NoteMeta, created?: number): string | undefined {
  return json({
    ...texts,
    ...(tags.length > 0 && { tags }),
    ...(created !== undefined && { created: new Date(created).toISOString() }),
  });
}

/** Reads a `.feed.json`; undefined when it is not a JSON object. A member of the wrong kind counts as unset. */
export function parseSettings(json: string): StoredSettings | undefined {
  const fields = parseObject(json);
  return (
    fields && {
      title: shownText(fields.title) ?? '',
      description: shownText(fields.description) ?? '',
      image: typeof fields.image === 'string' ? (fields.image as NoteFile) : undefined,
      showSender: fields.show_sender !== false,
    }
  );
}

/** The `.feed.json` of a feed, or undefined when everything is as where there is none. */
export function serializeSettings({
  title,
  description,
  image,
  showSender,
}: StoredSettings): string | undefined {
  return json({
    ...(title !== '' && { title }),
    ...(description !== '' && { description }),
    image,
    ...(!showSender && { show_sender: false }),
  });
}

/** Settings as a `.feed.json` would bring them back, so that every backend shows odd characters in the same way. */
export function settingsAsStored(settings: StoredSettings): StoredSettings {
  return parseSettings(serializeSettings(settings) ?? '') ?? NO_SETTINGS;
}

/** Undefined when no member has a value. */
function json(members: Readonly<Record<string, unknown>>): string | undefined {
  return Object.values(members).some((value) => value !== undefined) ? JSON.stringify(members) : undefined;
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function textMember<K extends string>(key: K, value: unknown): { [P in K]?: string } {
  const text = shownText(value);
  return text === undefined ? {} : ({ [key]: text } as { [P in K]?: string });
}

function shownText(value: unknown): string | undefined {
  // JSON can hold a lone surrogate, and strict readers of JSON give up on ours if it does.
  const text = typeof value === 'string' ? shownOneLine(value).toWellFormed().trim() : '';
  return text === '' ? undefined : text;
}

/** An array of tags, or one string with commas between them. */
function tagsOf(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return [...new Set(list.map(shownText).filter((tag) => tag !== undefined))];
}
