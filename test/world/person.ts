import { join } from 'node:path';
import type { NoteFile, NoteId } from '../../src/feeds/names.ts';
import { noteFile } from '../../src/feeds/names.ts';
import { begin, type Effect, KnownNote } from './known.ts';
import type { Scene } from './scene.ts';

/**
 * Nobody touches a file that was written so recently, ms: without events the watch has not seen it before, and does not miss it
 * when it is gone.
 */
const YOUNG_MS = 3_000;

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
    const p = random.below(10);
    if (p < 3 || notes.length === 0) {
      const id = `hand-${this.#scene.number()}` as NoteId;
      const file = noteFile(id, 'md');
      const note = new KnownNote(feed, file, { id, type: 'md' });
      feed.notes.set(file, note);
      const bytes = Buffer.from(`by hand ${id}`);
      const nothing = { title: undefined, tags: [], key: undefined, expires: undefined, hash: undefined };
      this.#place(file, bytes, { known: note, value: { ...nothing, bytes } });
    } else if (p < 6) {
      const note = random.oneOf(notes);
      const bytes = random.chance(0.5) ? random.bytes(note.sure!.bytes.length) : random.bytes(20);
      this.#place(note.file, bytes, { known: note, value: { ...note.sure!, bytes } });
    } else if (p < 9) {
      const note = random.oneOf(notes);
      this.#place(note.file, undefined, { known: note, value: undefined });
    } else {
      const title = `by hand ${random.below(10)}`;
      const value = { ...feed.record.sure!, title, description: '', keepNotes: undefined };
      const bytes = Buffer.from(JSON.stringify({ title }));
      this.#place('.feed.json', bytes, { known: feed.record, value }, feed.name);
    }
  }

  #place(file: NoteFile | string, bytes: Buffer | undefined, effect: Effect, feed?: string): void {
    const { computer, moments } = this.#scene;
    const path = join(this.#dir, feed ?? (effect.known as KnownNote).feed.name, file);
    computer.trace(`by hand: ${path} ${bytes?.length}`);
    begin(moments, `the change by hand of ${effect.known.title}`, [effect], { isByHand: true });
    computer.disk.placeByHand(path, bytes);
  }
}
