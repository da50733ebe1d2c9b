import { join } from 'node:path';
import type { FeedName, NoteId } from '../../src/feeds/names.ts';
import { noteFile } from '../../src/feeds/names.ts';
import { metaFile, SETTINGS_FILE } from '../../src/storage/files/names.ts';
import { begin, type Effect, type KnownFeed, KnownNote } from './known.ts';
import type { Scene } from './scene.ts';

/**
 * Nobody touches a file that was written so recently, ms: without events the watch has not seen it before, and does not miss it
 * when it is gone.
 */
const YOUNG_MS = 3_000;

/** Of a note without metadata. */
const NOTHING = { title: undefined, tags: [], key: undefined, expires: undefined, hash: undefined };

/** Somebody who changes files of feeds by hand. What is changed so is on the disk, and has to show. */
export class Person {
  readonly #scene: Scene;
  readonly #dir: string;

  constructor(scene: Scene, dir: string) {
    this.#scene = scene;
    this.#dir = dir;
  }

  act(): void {
    const { random, feeds } = this.#scene;
    const there = feeds.filter(({ record }) => record.sure && !record.pending);
    if (there.length === 0) return;
    const feed = random.oneOf(there);
    // What a sweep has removed is made anew by hand, without its metadata.
    const isThere = (note: KnownNote) => note.sure && note.sure.expires === undefined && !note.mayBeSwept;
    const notes = [...feed.notes.values()].filter(
      (note) => !note.pending && note.touchedAt < this.#scene.now - YOUNG_MS && isThere(note),
    );
    const p = random.below(14);
    if (p < 3 || notes.length === 0) {
      const id = `hand-${this.#scene.number()}` as NoteId;
      const file = noteFile(id, 'md');
      const note = new KnownNote(feed, file, { id, type: 'md' });
      feed.notes.set(file, note);
      const bytes = Buffer.from(`by hand ${id}`);
      const described = random.chance(0.5) ? this.#described(undefined) : undefined;
      const placed = { ...NOTHING, ...described?.members, bytes };
      if (described) this.#put(feed.name, metaFile(file), described.bytes);
      this.#change(feed.name, file, bytes, { known: note, value: placed });
    } else if (p < 6) {
      const note = random.oneOf(notes);
      const bytes = random.chance(0.5) ? random.bytes(note.sure!.bytes.length) : random.bytes(20);
      this.#change(feed.name, note.file, bytes, { known: note, value: { ...note.sure!, bytes } });
    } else if (p < 9) {
      const note = random.oneOf(notes);
      this.#change(feed.name, note.file, undefined, { known: note, value: undefined });
    } else if (p < 11) {
      const note = random.oneOf(notes);
      const { bytes, tags } = note.sure!;
      const isRemoved = tags.length > 0 && random.chance(0.3);
      const described = isRemoved ? undefined : this.#described(note.sure!.key);
      const value = { ...NOTHING, ...described?.members, bytes };
      this.#change(feed.name, metaFile(note.file), described?.bytes, { known: note, value });
    } else if (p < 12) {
      const title = `by hand ${random.below(10)}`;
      const value = { ...feed.record.sure!, title, description: '', keepNotes: undefined };
      const bytes = Buffer.from(JSON.stringify({ title }));
      this.#change(feed.name, SETTINGS_FILE, bytes, { known: feed.record, value });
    } else if (p < 13) {
      this.#scene.computer.disk.removeByHand(join(this.#dir, feed.name));
      this.#begin({ known: feed.record, value: undefined });
    } else this.#rename(feed);
  }

  /** Renames a feed, if the new name is free and no client is changing one of its notes. */
  #rename(feed: KnownFeed): void {
    const { random, names, feeds } = this.#scene;
    const name = random.oneOf(names);
    const isTaken = feeds.some((one) => one.name === name && (one.record.sure || one.record.pending));
    const isBusy = [...feed.notes.values()].some((one) => one.pending);
    if (isTaken || isBusy) return;
    this.#scene.computer.disk.renameByHand(join(this.#dir, feed.name), join(this.#dir, name));
    const renamed = this.#scene.addFeed(name);
    renamed.leastKept = feed.leastKept;
    const notes = [...feed.notes.values()].map((one) => {
      const note = new KnownNote(renamed, one.file, one);
      note.isUnclear = one.isUnclear;
      // A rename is told like an import.
      note.wasImported = true;
      renamed.notes.set(one.file, note);
      return { known: note, value: one.sure };
    });
    const effects: [Effect, Effect] = [
      { known: feed.record, value: undefined },
      { known: renamed.record, value: feed.record.sure },
    ];
    this.#begin(...effects, ...notes);
  }

  /** Metadata as somebody writes it, who may leave out the key that the note had. */
  #described(key: string | undefined) {
    const { random, now } = this.#scene;
    const members = {
      title: `by hand ${random.below(10)}`,
      tags: random.oneOf([[], ['a'], ['b', 'c']]),
      key: random.oneOf([undefined, key]),
      expires: random.oneOf([undefined, undefined, now + random.below(10_000)]),
    };
    const { expires } = members;
    const written = {
      ...members,
      expires: expires === undefined ? undefined : new Date(expires).toISOString(),
    };
    return { members, bytes: Buffer.from(JSON.stringify(written)) };
  }

  #change(feed: FeedName, file: string, bytes: Buffer | undefined, effect: Effect): void {
    this.#put(feed, file, bytes);
    this.#begin(effect);
  }

  #begin(...effects: [Effect, ...Effect[]]): void {
    const title = `the change by hand of ${effects[0].known.title}`;
    this.#scene.computer.trace(title);
    begin(this.#scene.moments, title, effects, { isByHand: true });
  }

  #put(feed: FeedName, file: string, bytes: Buffer | undefined): void {
    const { computer } = this.#scene;
    const path = join(this.#dir, feed, file);
    computer.trace(`by hand: ${path} ${bytes?.length}`);
    computer.disk.placeByHand(path, bytes);
  }
}
