import { isNoteType, type NoteType } from './note-types.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The write key of a feed: a secret. Its type keeps it out of public addresses, logs and metrics. */
export type FeedName = Branded<'FeedName'>;
/** The public key of a feed's read link. */
export type ReadId = Branded<'ReadId'>;
/** The id of a note: its file's base name. */
export type NoteId = Branded<'NoteId'>;
/** The file of a note: `<id>.<ext>`. */
export type NoteFile = Branded<'NoteFile'>;

/** Names that are routes, and so never feeds (docs/specification.md, "Name rules"). */
export const ROUTE_NAMES: ReadonlySet<string> = new Set([
  'r',
  'api',
  'login',
  'logout',
  'mcp',
  'metrics',
  'n',
  '_next',
  'static',
  'health',
  'imprint',
  'privacy',
  'terms',
  'license',
]);

/** Names that became reserved later: a feed that has one goes on to work. */
export const LATER_ROUTE_NAMES: ReadonlySet<string> = new Set(['oauth', 'report']);

/** 1 to 64 characters of `a-z`, `0-9`, `-`, `_`. Says nothing of reserved names. */
export function isFeedName(text: string): text is FeedName {
  return /^[a-z0-9_-]{1,64}$/.test(text);
}

/** Whether the first segment of a path leads to a feed. A reserved name leads to a route, even if an older feed has it. */
export function isFeedSegment(first: string): first is FeedName {
  return isFeedName(first) && !ROUTE_NAMES.has(first) && !LATER_ROUTE_NAMES.has(first);
}

/** Any read id that may exist: 3 to 64 characters of `A-Za-z0-9-_`. */
export function isReadId(text: string): text is ReadId {
  return /^[A-Za-z0-9_-]{3,64}$/.test(text);
}

/** A read id that a person may choose: 3 to 64 characters of `a-z0-9-_`. */
export function isChosenReadId(text: string): text is ReadId {
  return /^[a-z0-9_-]{3,64}$/.test(text);
}

/** A base name a note file may have: not empty, no dot, no slash, no NUL. */
export function isNoteId(text: string): text is NoteId {
  return text.length > 0 && !/[./\0]/.test(text);
}

/** The file of a note. */
export function noteFile(id: NoteId, type: NoteType): NoteFile {
  return `${id}.${type}` as NoteFile;
}

/** The id and type in a file name, or undefined when it is not named like a note. */
export function parseNoteFile(name: string): { file: NoteFile; id: NoteId; type: NoteType } | undefined {
  const dot = name.lastIndexOf('.');
  const id = name.slice(0, dot);
  const type = name.slice(dot + 1);
  if (dot < 1 || !isNoteId(id) || !isNoteType(type)) return undefined;
  return { file: name as NoteFile, id, type };
}
