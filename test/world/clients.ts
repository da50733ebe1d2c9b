import { dateOfId } from '../../src/feeds/ids.ts';
import { noteFile, type ReadId } from '../../src/feeds/names.ts';
import type { NewNote, NoteMeta } from '../../src/feeds/note.ts';
import { Refusal, type RefusalCode } from '../../src/refusals.ts';
import type { Storage, Written } from '../../src/storage/storage.ts';
import { FileReplaced } from '../../src/storage/stored-file.ts';
import { type Command, toFeed } from '../../src/writing/command.ts';
import {
  begin,
  type Change,
  type Effect,
  end,
  type FeedValue,
  isNote,
  KnownNote,
  type NoteValue,
  noteValue,
  Violation,
} from './known.ts';
import {
  type FoundFeed,
  findFeed,
  follow,
  mayBeAbsent,
  readArrivals,
  readNeighbours,
  readNote,
  readPages,
  readTags,
} from './reading.ts';
import { changeRecord, useToken } from './records.ts';
import type { Scene } from './scene.ts';

/** What the disk may make of a write or a read. */
const OF_THE_DISK: ReadonlySet<string> = new Set<RefusalCode>(['storage_full', 'store_unavailable']);
/** A failure of the disk may be felt so long after it, ms: the lock is taken again a second later. */
const FELT_MS = 10_000;
const KEYS = ['k0', 'k1', 'k2'];

/** A client that does one thing after the other, at random. */
export class Client {
  readonly #scene: Scene;
  readonly #storage: Storage;

  constructor(scene: Scene, storage: Storage) {
    this.#scene = scene;
    this.#storage = storage;
  }

  async act(): Promise<void> {
    const { random, names, computer } = this.#scene;
    this.#scene.operations += 1;
    const begunAt = computer.time.now;
    try {
      if (random.chance(0.03)) return await changeRecord(this.#scene, this.#storage);
      if (random.chance(0.03)) return await useToken(this.#scene, this.#storage);
      const found = await findFeed(this.#scene, this.#storage, random.oneOf(names));
      if (found) await this.#actOn(found);
      else await this.#create();
    } catch (error) {
      if (error instanceof FileReplaced) return;
      if (!(error instanceof Refusal && OF_THE_DISK.has(error.code))) throw error;
      this.#mustBeFelt(error, begunAt);
    }
  }

  async #actOn(found: FoundFeed): Promise<void> {
    const { random } = this.#scene;
    const note = this.#anyNote(found);
    const p = random.below(100);
    if (p < 30) await this.#post(found);
    else if (p < 38) await this.#postWithKey(found);
    else if (p < 42) await this.#import(found);
    else if (p < 60) await readPages(this.#scene, this.#storage, found, 1 + random.below(100));
    else if (p < 66 && note) await readNote(this.#scene, this.#storage, found, note);
    else if (p < 67 && note) await readNeighbours(this.#scene, this.#storage, found, note);
    else if (p < 69) await this.#look(found);
    else if (p < 76 && note) await this.#replace(found, note);
    else if (p < 84 && note) await this.#describe(found, note);
    else if (p < 93 && note) await this.#remove(found, note);
    else if (p < 95) await this.#sweep();
    else if (p < 97) await this.#configure(found);
    else if (p < 98) await this.#setPassword(found);
    else if (p < 99) await this.#delete(found);
  }

  async #create(): Promise<void> {
    const { feeds, random, names, retired, limits, moments } = this.#scene;
    const name = random.oneOf(names);
    const isReused = retired.length > 0 && random.chance(0.2);
    const readId = isReused ? random.oneOf(retired) : (`read-${this.#scene.number()}` as ReadId);
    const feed = this.#scene.addFeed(name);
    const passwordHash = random.oneOf([undefined, 'hash-0']);
    const notes = random.chance(0.5) ? this.#newNotes() : [];
    const since = moments.next();
    const value: FeedValue = { readId, title: '', description: '', keepNotes: undefined, passwordHash };
    const change = begin(moments, `making ${feed.record.title}`, [
      { known: feed.record, value },
      ...this.#added({ known: feed }, notes),
    ]);
    const target = { kind: 'new', readId, passwordHash } as const;
    const written = await this.#write(change, { kind: 'post', name, target, notes, limits }, (code) => {
      if (code === 'feed_limit') return this.#mayBeFullOfFeeds(since);
      if (code === 'taken') return isReused || feeds.some((one) => one.record.sure?.readId === readId);
      return this.#isFull(code, feed.notes.values(), since, notes);
    });
    if (written === 'refused') return;
    if (written && isReused) throw new Violation(`the read id ${readId} was given again`);
    if (
      !written &&
      !feeds.some((one) => one !== feed && one.name === name && one.record.mayHaveBeen(since, Boolean))
    )
      throw new Violation(`${feed.record.title} was not made, though there was none`);
    end(moments, change, written !== undefined);
  }

  async #post({ known, record }: FoundFeed): Promise<void> {
    const { moments, limits } = this.#scene;
    const notes = this.#newNotes();
    const since = moments.next();
    const change = begin(moments, `a post to ${known.record.title}`, this.#added({ known }, notes));
    const command = { kind: 'post', ...toFeed(record), notes, limits } as const;
    const written = await this.#write(change, command, (code) =>
      this.#isFull(code, known.notes.values(), since, notes),
    );
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, undefined, since);
    this.#end(change, { known, record }, written);
  }

  /** Some clients use the same keys, for one of two posts. */
  async #postWithKey({ known, record }: FoundFeed): Promise<void> {
    const { moments, limits, random } = this.#scene;
    const key = random.oneOf(KEYS);
    const hash = random.oneOf(['first', 'second']);
    const note = this.#newNote('md', { key, posted: { hash }, tags: [] }, Buffer.from(`${key} ${hash}`));
    const since = moments.next();
    const change = begin(
      moments,
      `a post with a key to ${known.record.title}`,
      this.#added({ known }, [note]),
    );
    const command = { kind: 'post', ...toFeed(record), notes: [note], limits } as const;
    const holders = (isIt?: (value: NoteValue) => boolean) => this.#holders(known, since, note, isIt);
    const written = await this.#write(change, command, (code) => {
      if (code === 'key_reused') return holders((value) => value.hash !== hash).length > 0;
      return this.#isFull(code, known.notes.values(), since, [note]);
    });
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, undefined, since);
    if (!written?.isUnchanged) {
      if (written && known.record.isSteady(since)) this.#mustBeFree(known, since, note);
      this.#end(change, { known, record }, written);
      return;
    }
    const answer = written.note!;
    const holder = known.notes.get(noteFile(answer.id, answer.type));
    if (!holder?.mayBeRead(since, (value) => value?.hash === hash && isNote(value, answer)))
      throw new Violation(`a post with a key was answered with ${answer.id}, which it is not`);
    end(moments, change, false);
  }

  /** Notes that come from elsewhere, some of them again. Each is stored, skipped or refused by itself. */
  async #import({ known, record }: FoundFeed): Promise<void> {
    const { moments, limits } = this.#scene;
    const notes = this.#importedNotes(known);
    const since = moments.next();
    const before = notes.map(({ id, type }) => known.notes.get(noteFile(id, type))?.sure);
    const changes = notes.map((note) =>
      begin(moments, `the import of ${note.id}`, this.#added({ known }, [note])),
    );
    for (const { id, type } of notes) known.notes.get(noteFile(id, type))!.wasImported = true;
    const written = await this.#write(changes, { kind: 'import', ...toFeed(record), notes, limits });
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, undefined, since);
    const isSteady = known.record.isSteady(since);
    for (const [n, note] of notes.entries()) {
      const outcome = written?.outcomes?.[n];
      const sure = before[n];
      const one = known.notes.get(noteFile(note.id, note.type))!;
      if (outcome === undefined || !isSteady) continue;
      const isExpected =
        outcome === 'stored'
          ? !sure || sure.expires! <= this.#scene.now || one.mayBeSwept
          : outcome === 'skipped'
            ? sure !== undefined || one.isUnclear
            : outcome.code === 'key_reused'
              ? this.#holders(known, since, note).length > 0 ||
                // One that has expired still has its key if its removal was refused.
                [...known.notes.values()].some(({ isUnclear }) => isUnclear)
              : this.#isFull(outcome.code, known.notes.values(), since, notes);
      if (!isExpected) throw new Violation(`${changes[n]!.title}: ${JSON.stringify(outcome)}`);
      if (outcome === 'stored' && note.meta.key) this.#mustBeFree(known, since, note);
    }
    for (const [n, change] of changes.entries())
      this.#end(change, { known, record }, written?.outcomes?.[n] === 'stored' ? written : undefined);
  }

  async #replace({ known, record }: FoundFeed, note: KnownNote): Promise<void> {
    const { moments, limits, random } = this.#scene;
    if (note.pending || !note.sure) return;
    const bytes = this.#bytes(note.type);
    const notes = random.chance(0.3) ? [this.#newNote('png')] : [];
    const since = moments.next();
    const change = begin(moments, `new bytes of ${note.title}`, [
      { known: note, value: { ...note.sure, bytes } },
      ...this.#added({ known }, notes),
    ]);
    const content = { type: note.type, bytes };
    const command = { kind: 'replace', ...toFeed(record), id: note.id, content, notes, limits } as const;
    const written = await this.#write(change, command, (code) =>
      this.#isFull(code, known.notes.values(), since, notes),
    );
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, note, since);
    this.#end(change, { known, record }, written);
  }

  async #describe({ known, record }: FoundFeed, note: KnownNote): Promise<void> {
    const { moments, random, now } = this.#scene;
    if (note.pending || !note.sure) return;
    const { sure } = note;
    const title = random.oneOf([undefined, `title ${random.below(100)}`]);
    const expires = random.oneOf([undefined, undefined, now + random.below(4000)]);
    const tags = random.oneOf([undefined, [], ['a'], ['a', 'b']]);
    const value = {
      ...sure,
      title: title ?? sure.title,
      tags: tags ?? sure.tags,
      expires: expires ?? sure.expires,
    };
    const since = moments.next();
    const change = begin(moments, `a description of ${note.title}`, [{ known: note, value }]);
    const command = {
      kind: 'describe',
      ...toFeed(record),
      id: note.id,
      meta: { title, tags, expires },
    } as const;
    const written = await this.#write(change, command);
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, note, since);
    this.#end(change, { known, record }, written);
  }

  async #remove({ known, record }: FoundFeed, note: KnownNote): Promise<void> {
    const { moments } = this.#scene;
    if (note.pending || !note.sure) return;
    const since = moments.next();
    const change = begin(moments, `the removal of ${note.title}`, [{ known: note, value: undefined }]);
    const written = await this.#write(change, { kind: 'remove', ...toFeed(record), id: note.id });
    if (written === 'refused') return;
    if (!written) this.#mayMiss({ known, record }, note, since);
    this.#end(change, { known, record }, written);
  }

  /** Answers that are made of many notes. */
  async #look({ known, record }: FoundFeed): Promise<void> {
    const { moments, random, maxFeeds, hasPerson } = this.#scene;
    const since = moments.next();
    const p = random.below(10);
    if (p === 0) await readArrivals(this.#scene, this.#storage, { known, record });
    if (p > 4) {
      const { followers } = this.#scene;
      const follower = followers.get(known) ?? { told: new Set(), last: undefined, since: this.#scene.now };
      // Nobody else goes on from there meanwhile.
      followers.delete(known);
      const next = await follow(this.#scene, this.#storage, { known, record }, follower);
      if (next) followers.set(known, next);
    }
    if (p === 1) await readTags(this.#scene, this.#storage, { known, record });
    if (p === 2) {
      const found = await this.#scene.alive(this.#storage.feedByReadId(record.readId));
      if (!found && known.record.isSteady(since))
        throw new Violation(`${known.record.title} has no read link`);
      if (found && found.name !== record.name && known.record.isSteady(since))
        throw new Violation(`two feeds have the read id ${record.readId}`);
    }
    if (p === 3) {
      const { feeds } = await this.#scene.alive(this.#storage.totals());
      if (maxFeeds > 0 && feeds > maxFeeds && !hasPerson) throw new Violation(`there are ${feeds} feeds`);
    }
    if (p === 4) {
      const { feeds } = await this.#scene.alive(
        this.#storage.listFeeds({ order: 'name', start: '', limit: 10 }),
      );
      if (known.record.isSteady(since) && !feeds.some(({ name }) => name === known.name))
        throw new Violation(`${known.record.title} is not listed`);
    }
  }

  /** What has expired is gone for readers already. */
  async #sweep(): Promise<void> {
    const { now } = this.#scene;
    for (const name of await this.#scene.alive(this.#storage.due(now))) {
      const record = await this.#scene.alive(this.#storage.feed(name));
      if (record) await this.#scene.alive(this.#storage.write({ kind: 'sweep', ...toFeed(record) }));
    }
  }

  async #configure({ known, record }: FoundFeed): Promise<void> {
    const { random, hasSweeps } = this.#scene;
    const { sure, pending } = known.record;
    if (pending || !sure) return;
    const p = random.below(10);
    const keepNotes = random.oneOf([undefined, 2, 5]);
    const texts = { title: `title ${random.below(10)}`, description: `${random.below(10)}` };
    // They are in another file than the read id.
    const both = { ...texts, readId: `read-${this.#scene.number()}` as ReadId };
    const settings = hasSweeps && p < 5 ? { keepNotes } : p > 6 ? both : texts;
    if ('keepNotes' in settings) known.leastKept = Math.min(known.leastKept, keepNotes ?? known.leastKept);
    await this.#changeFeed(
      { known, record },
      { ...sure, ...settings },
      { kind: 'configure', ...toFeed(record), settings },
    );
  }

  async #setPassword({ known, record }: FoundFeed): Promise<void> {
    const { sure, pending } = known.record;
    if (pending || !sure) return;
    const passwordHash = this.#scene.random.oneOf([undefined, 'hash-1', 'hash-2']);
    const command = { kind: 'set password', ...toFeed(record), passwordHash } as const;
    await this.#changeFeed({ known, record }, { ...sure, passwordHash }, command);
  }

  async #delete({ known, record }: FoundFeed): Promise<void> {
    const { retired } = this.#scene;
    const { sure, pending } = known.record;
    if (pending || !sure) return;
    if (await this.#changeFeed({ known, record }, undefined, { kind: 'delete', ...toFeed(record) }))
      retired.push(record.readId);
  }

  async #changeFeed(
    { known, record }: FoundFeed,
    value: FeedValue | undefined,
    command: Command,
  ): Promise<boolean> {
    const { moments } = this.#scene;
    const since = moments.next();
    const change = begin(moments, `${command.kind} of ${known.record.title}`, [
      { known: known.record, value },
    ]);
    const written = await this.#write(change, command);
    if (written === 'refused') return false;
    if (!written) this.#mayMiss({ known, record }, undefined, since);
    end(moments, change, written !== undefined);
    return written !== undefined;
  }

  /** What a write gave. A refusal ends the change; one that is not of the disk must be expected. */
  async #write(
    changed: Change | readonly Change[],
    command: Command,
    isExpected: (code: RefusalCode) => boolean = () => false,
  ): Promise<Written | undefined | 'refused'> {
    const { computer, moments } = this.#scene;
    const begunAt = computer.time.now;
    const changes = [changed].flat();
    const { title } = changes[0]!;
    try {
      const written = await this.#scene.alive(this.#storage.write(command));
      computer.trace(`${title} ${written ? 'made' : 'not made'}`);
      if (written && !this.#scene.hasPerson) this.#mustFit(title, written);
      return written;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      computer.trace(`${title} ${error.code}`);
      if (OF_THE_DISK.has(error.code)) this.#mustBeFelt(error, begunAt);
      else if (!isExpected(error.code)) throw new Violation(`${title} was refused: ${error.code}`);
      const isDeleted = error.message.startsWith('The feed is deleted');
      // In a storm it is taken back when that is over.
      for (const change of changes)
        if (isDeleted || computer.canTakeBack) end(moments, change, isDeleted);
        else change.isRefused = true;
      return 'refused';
    }
  }

  /** Notes of a feed that was deleted meanwhile went with it. */
  #end(change: Change, { known }: FoundFeed, written: Written | undefined): void {
    const isThere = (known.record.sure ?? known.record.pending?.value) !== undefined;
    end(this.#scene.moments, change, written !== undefined && isThere);
  }

  #mustBeFelt(error: Refusal, begunAt: number): void {
    if (this.#scene.computer.lastFaultAt < begunAt - FELT_MS)
      throw new Violation(`refused, though no call failed: ${error.code} ${error.message}`, { cause: error });
  }

  /** Nothing was found to be changed. */
  #mayMiss({ known, record }: FoundFeed, note: KnownNote | undefined, since: number): void {
    if (!known.record.isSteady(since)) return;
    if (note && mayBeAbsent(note, since, this.#scene.now)) return;
    throw new Violation(`${note?.title ?? known.record.title} was not found (${record.key})`);
  }

  /** Limits are exact for whatever the service stores by itself. */
  #mustFit(title: string, { feed: { noteCount, imageCount, byteCount } }: Written): void {
    const { texts, images, bytes } = this.#scene.limits;
    if ((texts > 0 && noteCount - imageCount > texts) || (images > 0 && imageCount > images))
      throw new Violation(`${title} has made ${noteCount} notes of which ${imageCount} are pictures`);
    if (bytes > 0 && byteCount > bytes) throw new Violation(`${title} has made ${byteCount} bytes`);
  }

  /** The notes that may have had the key of another one. */
  #holders(
    { notes }: FoundFeed['known'],
    since: number,
    { id, meta: { key } }: NewNote,
    isIt: (value: NoteValue) => boolean = () => true,
  ): KnownNote[] {
    const holds = (value: NoteValue | undefined) => value !== undefined && value.key === key && isIt(value);
    return [...notes.values()].filter((one) => one.id !== id && one.mayHaveBeen(since, holds));
  }

  /** No other note had the key of a note that was stored. */
  #mustBeFree(known: FoundFeed['known'], since: number, note: NewNote): void {
    const isHeld = (one: KnownNote) => one.isSteady(since) && !mayBeAbsent(one, since, this.#scene.now);
    const other = this.#holders(known, since, note).find(isHeld);
    if (other) throw new Violation(`${other.title} has the key of a new note`);
  }

  /** Whether a limit may have been reached. */
  #isFull(code: RefusalCode, known: Iterable<KnownNote>, since: number, added: readonly NewNote[]): boolean {
    const { limits, feeds, maxBytes } = this.#scene;
    if (code === 'byte_limit') {
      const there = feeds.filter(({ record }) => record.mayHaveBeen(since, Boolean));
      const all = there.flatMap(({ notes }) => [...notes.values()]);
      return (
        (limits.bytes > 0 && mostBytes(known, since) > limits.bytes) ||
        (maxBytes > 0 && mostBytes(all, since) > maxBytes)
      );
    }
    if (code !== 'note_limit' && code !== 'image_limit') return false;
    const isAsked = (type: NewNote['type']) => (type === 'md') === (code === 'note_limit');
    const ids = new Set(added.map(({ id }) => id));
    const others = [...known].filter(
      (one) =>
        isAsked(one.type) &&
        !ids.has(one.id) &&
        (one.isUnclear || one.mayHaveBeen(since, (value) => value !== undefined)),
    );
    const count = others.length + added.filter(({ type }) => isAsked(type)).length;
    return count > (code === 'note_limit' ? limits.texts : limits.images);
  }

  #mayBeFullOfFeeds(since: number): boolean {
    const { feeds, maxFeeds } = this.#scene;
    const others = feeds.filter(({ record }) => record.mayHaveBeen(since, Boolean));
    return maxFeeds > 0 && others.length > maxFeeds;
  }

  #anyNote({ known }: FoundFeed): KnownNote | undefined {
    const notes = [...known.notes.values()].filter(({ sure }) => sure !== undefined);
    return notes.length > 0 ? this.#scene.random.oneOf(notes) : undefined;
  }

  #importedNotes({ notes }: FoundFeed['known']): NewNote[] {
    const { random } = this.#scene;
    const known = [...notes.values()].filter(({ id, pending }) => !pending && dateOfId(id) !== undefined);
    const again = known.length > 0 && random.chance(0.7) ? [random.oneOf(known)] : [];
    const imported = again.map(({ id, type }) => ({ ...this.#newNote(type), id }));
    if (random.chance(0.3))
      imported.push(this.#newNote('md', { key: random.oneOf(KEYS), posted: { hash: 'first' }, tags: [] }));
    return imported.length > 0 && random.chance(0.3) ? imported : [...imported, ...this.#newNotes()];
  }

  #newNotes(): NewNote[] {
    const types = this.#scene.random.oneOf([
      ['md'],
      ['md'],
      ['png'],
      ['gif', 'md'],
      ['png', 'jpg', 'md'],
    ] as const);
    return types.map((type) => this.#newNote(type));
  }

  #newNote(type: NewNote['type'], meta?: NoteMeta, bytes = this.#bytes(type)): NewNote {
    const id = this.#scene.nextId();
    return { id, type, bytes, meta: meta ?? this.#meta() };
  }

  #meta(): NoteMeta {
    const { random, now } = this.#scene;
    if (random.chance(0.5)) return { tags: [] };
    const expires = random.chance(0.2) ? now + random.below(3000) : undefined;
    return { title: `title ${random.below(100)}`, tags: random.oneOf([[], ['a'], ['b', 'c']]), expires };
  }

  #bytes(type: NewNote['type']): Buffer {
    const { random } = this.#scene;
    const number = this.#scene.number();
    return type === 'md'
      ? Buffer.from(`text ${number} ${'.'.repeat(random.below(50))}`)
      : random.bytes(10 + random.below(50));
  }

  /** The notes, as they are to be known. */
  #added({ known }: Pick<FoundFeed, 'known'>, notes: readonly NewNote[]): Effect[] {
    return notes.map((note) => {
      const file = noteFile(note.id, note.type);
      const added = known.notes.get(file) ?? new KnownNote(known, file, note);
      known.notes.set(file, added);
      return { known: added, value: noteValue(note) };
    });
  }
}

/** How many bytes notes may have had together since a moment. */
function mostBytes(notes: Iterable<KnownNote>, since: number): number {
  let sum = 0;
  for (const note of notes) {
    const values = [...note.since(note.isUnclear ? 0 : since), note.pending?.value];
    sum += Math.max(...values.map((value) => value?.bytes.length ?? 0));
  }
  return sum;
}
