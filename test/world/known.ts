import { isDeepStrictEqual } from 'node:util';
import { dateOfId } from '../../src/feeds/ids.ts';
import type { FeedName, NoteFile, ReadId } from '../../src/feeds/names.ts';
import type { NewNote, Note } from '../../src/feeds/note.ts';
import { type Ordered, oldestFirst } from '../../src/feeds/order.ts';

/** Something that the service did against its contract. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Counts the beginnings and ends of changes and reads: what was when. */
export class Moments {
  #last = 0;

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** One write, and what is after it of each thing that it changes; undefined for what is then gone. */
export interface Change {
  readonly title: string;
  readonly effects: readonly Effect[];
  /** Somebody has read what it makes, so it may not be taken back. */
  isSeen: boolean;
  /** A write that failed is being undone; until that is done, readers may see a part of it. */
  isRefused?: boolean;
  /** Nobody refuses it, so it must be there sooner or later. */
  readonly isByHand?: boolean;
}

export interface Effect {
  readonly known: Known<unknown>;
  readonly value: unknown;
}

/** What clients know of one thing: how it is for sure, and how it may be besides. One change of it runs at a time. */
export class Known<T> {
  readonly title: string;
  sure: T | undefined;
  pending: { readonly value: T | undefined; readonly change: Change } | undefined;
  readonly #past: { readonly value: T | undefined; readonly until: number }[] = [];
  /** When the last change began or ended. */
  changedAt = 0;
  /** The same, ms since the epoch. */
  touchedAt = 0;
  /** When the last change that was not made ended, ms since the epoch. */
  refusedAt: number | undefined;
  /** Nobody can tell whether a change of it was made: it has expired, but may count until it is swept. */
  isUnclear = false;

  constructor(title: string) {
    this.title = title;
  }

  become(value: T | undefined, at: number): void {
    this.#past.push({ value: this.sure, until: at });
    if (this.#past.length > 8) this.#past.shift();
    this.sure = value;
    this.changedAt = at;
  }

  /** Whether it was the same all the time since a moment. */
  isSteady(since: number): boolean {
    return this.pending === undefined && this.changedAt < since;
  }

  /** How it was for sure at some time since a moment. */
  since(moment: number): (T | undefined)[] {
    return [this.sure, ...this.#past.filter(({ until }) => until >= moment).map(({ value }) => value)];
  }

  /** Whether it was so for sure at some time since a moment, or will be by the change that runs. */
  mayBeOrBecome(moment: number, isIt: (value: T | undefined) => boolean): boolean {
    return this.since(moment).some(isIt) || (this.pending !== undefined && isIt(this.pending.value));
  }

  /** Whether it may have been so at some time since a moment. */
  mayHaveBeen(moment: number, isIt: (value: T | undefined) => boolean): boolean {
    return this.pending?.change.isRefused || this.mayBeOrBecome(moment, isIt);
  }

  /** Whether somebody may have read that; notes that a change that runs was seen. */
  mayBeRead(moment: number, isIt: (value: T | undefined) => boolean): boolean {
    if (this.since(moment).some(isIt) || this.pending?.change.isRefused) return true;
    if (!this.pending || !isIt(this.pending.value)) return false;
    this.pending.change.isSeen = true;
    return true;
  }
}

export function begin(
  moments: Moments,
  title: string,
  effects: readonly Effect[],
  { isByHand = false } = {},
): Change {
  const change: Change = { title, effects, isSeen: false, isByHand };
  const at = moments.next();
  for (const { known, value } of effects) {
    known.pending = { value, change };
    known.changedAt = at;
    known.touchedAt = Date.now();
  }
  return change;
}

/** The change was made, or, if it was not, nothing of it may be seen from now on. */
export function end(moments: Moments, { title, effects, isSeen }: Change, isMade: boolean): void {
  if (isSeen && !isMade) throw new Violation(`${title} failed, but somebody has read what it made`);
  const at = moments.next();
  for (const { known, value } of effects) {
    known.pending = undefined;
    known.touchedAt = Date.now();
    if (isMade) known.become(value, at);
    else {
      known.changedAt = at;
      known.refusedAt = Date.now();
    }
  }
}

/** A note, as its poster knows it. */
export interface NoteValue {
  readonly bytes: Buffer;
  readonly title: string | undefined;
  readonly tags: readonly string[];
  readonly key: string | undefined;
  readonly expires: number | undefined;
  /** Of the post that the key stands for. */
  readonly hash: string | undefined;
}

/** Those settings of a feed that the simulated clients change. */
export interface FeedValue {
  readonly readId: ReadId;
  readonly title: string;
  readonly description: string;
  readonly keepNotes: number | undefined;
  readonly passwordHash: string | undefined;
}

/** One feed of a name: after its deletion another one may have that. */
export class KnownFeed {
  readonly name: FeedName;
  readonly record: Known<FeedValue>;
  readonly notes = new Map<NoteFile, KnownNote>();
  /** The least number of notes that it was ever asked to keep. */
  leastKept = Number.POSITIVE_INFINITY;

  constructor(name: FeedName, number: number) {
    this.name = name;
    this.record = new Known(`feed ${name} #${number}`);
  }

  /** Until somebody has noticed, its notes may show without metadata. */
  get isRemovedByHand(): boolean {
    const { pending } = this.record;
    return pending?.change.isByHand === true && pending.value === undefined;
  }
}

export class KnownNote extends Known<NoteValue> {
  readonly feed: KnownFeed;
  readonly file: NoteFile;
  readonly id: NewNote['id'];
  readonly type: NewNote['type'];
  /** Those who follow its feed are told then to load all notes again. */
  wasImported = false;

  constructor(feed: KnownFeed, file: NoteFile, { id, type }: Pick<NewNote, 'id' | 'type'>) {
    super(`note ${file} of ${feed.record.title}`);
    this.feed = feed;
    this.file = file;
    this.id = id;
    this.type = type;
  }

  /** Whether a sweep may have removed it, because the feed may have had enough newer notes. */
  get mayBeSwept(): boolean {
    const { leastKept, notes } = this.feed;
    if (leastKept === Number.POSITIVE_INFINITY) return false;
    const place = placeOf(this);
    const mayBeNewer = (other: KnownNote) => {
      const others = placeOf(other);
      return other !== this && (!place || !others || oldestFirst(others, place) > 0);
    };
    return [...notes.values()].filter(mayBeNewer).length >= leastKept;
  }
}

/** Something that the operator has closed. */
export class KnownRecord extends Known<true> {
  readonly kind: 'link' | 'picture';
  readonly key: string;

  constructor(kind: KnownRecord['kind'], key: string) {
    super(`the record of the ${kind} ${key}`);
    this.kind = kind;
    this.key = key;
  }
}

/** A series of tokens that are used one after the other. */
export interface KnownSeries {
  readonly name: string;
  /** Those at places before are used. */
  turn: number;
  /** The next one may be used, too, because a use was not answered, or was refused by the disk. */
  isUnsure: boolean;
  /** Who uses the next one. */
  user: unknown;
}

/** Undefined if its file tells the date. */
export function placeOf({ id, type }: KnownNote): Ordered | undefined {
  const createdAt = dateOfId(id);
  return createdAt === undefined ? undefined : { id, type, createdAt };
}

export function noteValue({ bytes, meta }: Pick<NewNote, 'bytes' | 'meta'>): NoteValue {
  const { title, tags, key, expires, posted } = meta;
  return { bytes: Buffer.from(bytes), title, tags, key, expires, hash: posted?.hash };
}

/** Whether a note that was read is that one. Of a picture only the size is read with it. */
export function isNote(value: NoteValue | undefined, { size, content, meta }: Note): boolean {
  if (!value) return false;
  const { bytes, title, tags, key, expires, hash } = value;
  if (bytes.length !== size || (content && !bytes.equals(content))) return false;
  return isDeepStrictEqual(
    [title, [...tags], key, expires, hash],
    [meta.title, [...meta.tags], meta.key, meta.expires, meta.posted?.hash],
  );
}

export function isFeed(value: FeedValue | undefined, feed: FeedValue | undefined): boolean {
  if (!value || !feed) return value === feed;
  return (['readId', 'title', 'description', 'keepNotes', 'passwordHash'] as const).every(
    (member) => value[member] === feed[member],
  );
}
