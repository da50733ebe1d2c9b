import { LRUCache } from 'lru-cache';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName, NoteId } from '../feeds/names.ts';
import type { LiveStream } from '../http/answer.ts';
import { inTurns } from '../in-turns.ts';
import type { Reader } from '../read/reader.ts';
import { type Arrival, BEFORE_ALL } from '../storage/arrivals.ts';
import type { FeedChange, Storage } from '../storage/storage.ts';
import { encodeEvent, type NoteEvent, type StreamFormat } from './note-events.ts';
import { BATCH_SIZE, Listener, type Subscription, Topic, type TopicOwner } from './topic.ts';

/** The most notes that a returning client is sent. If it missed more, it gets the last of them and a `reset`. */
const MAX_CAUGHT_UP = 100;
/** Notes that may come between two look-ups while a client listens. */
const MAX_AT_ONCE = 1_000;
/** Changes of notes that are kept for the next look-up. */
const MAX_CHANGES = 1_000;
/** The most bytes of events that are sent in one turn of the event loop. */
const TURN_BYTES = 4 * 1024 * 1024;
/** Memory for encoded events that other listeners are to get, too, bytes. */
const SHARED_BYTES = 4 * 1024 * 1024;

interface NoteSource {
  readonly storage: Pick<Storage, 'arrivals'>;
  readonly reader: Pick<Reader, 'eventNote'>;
}

/** How a client wants to be told of notes. */
export interface NoteStreamOptions {
  readonly format: StreamFormat;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
  /** The client has all notes up to this place, or to the note of this id; undefined if nobody knows what it has. */
  readonly since: Arrival | NoteId | undefined;
}

/** The newest note of a feed: a client that starts there is told only of later notes. */
export async function lastArrival(storage: NoteSource['storage'], feed: Feed | undefined): Promise<Arrival> {
  const last = feed && (await storage.arrivals(feed, undefined, 1));
  return last?.notes[0] ?? BEFORE_ALL;
}

/**
 * Tells listeners of the notes of a feed: each that comes, once and in the order in which they came, and what becomes of those
 * that were there. Each listener has its own place in that order, so one that is slow is told later, and costs no memory.
 */
export class NoteTopic extends Topic<NoteListener> {
  readonly #source: NoteSource;
  #edited = new Set<NoteId>();
  #removed = new Set<NoteId>();
  /** More notes have changed than `#edited` and `#removed` name. */
  #isUnnamed = false;
  /** Changes may have been lost. */
  #isUnsure = false;
  /** The version of the feed up to which all changes were received. */
  #version: string | undefined;
  /** When that version was found, in `performance.now()` time. */
  #foundAt = 0;

  constructor(owner: TopicOwner, source: NoteSource, key: string, name: FeedName | undefined) {
    super(owner, key, name);
    this.#source = source;
  }

  override changed(change: FeedChange | undefined): void {
    const { edited = [], removed = [], isUnnamed = false } = change ?? {};
    this.#isUnsure ||= change === undefined;
    for (const id of edited) this.#edited.add(id);
    for (const id of removed) this.#removed.add(id);
    // A look-up that runs may have begun before changes that were lost.
    if (change === undefined && this.isLookingUp) this.#forgetChanges(true);
    if (isUnnamed || this.#edited.size + this.#removed.size > MAX_CHANGES) this.#forgetChanges(true);
    this.lookUp();
  }

  override changesStop(heardUntil: number): void {
    if (this.#foundAt >= heardUntil) this.#version = undefined;
  }

  protected async tell(listeners: readonly NoteListener[], feed: Feed | undefined): Promise<void> {
    const admitted: NoteListener[] = [];
    await inTurns(listeners, BATCH_SIZE, (listener) => {
      if (!listener.continuesWith(feed)) return;
      admitted.push(listener);
      if (feed === undefined) listener.tellOfNoNotes();
    });
    if (feed === undefined) return;
    // The changes are taken before new notes are looked up, so that no listener gets an edit before its note.
    const [edited, removed] = [this.#edited, this.#removed];
    const isUnnamed = this.#isUnnamed || (this.#isUnsure && this.#version !== feed.version);
    const hasChanges = isUnnamed || edited.size + removed.size > 0;
    this.#forgetChanges(false);
    this.#isUnsure = false;
    // While changes may be lost, a version may cover some that nobody was told of.
    if (this.owner.receivesChanges && this.#version !== feed.version) {
      this.#version = feed.version;
      this.#foundAt = performance.now();
    }
    // Listeners that joined since the feed was looked up are not told now: the next look-up may have to end them.
    const present = new Set(listeners);
    if (hasChanges)
      for (const listener of this.listeners)
        if (isUnnamed || !present.has(listener)) listener.owesReset = true;
    const delivery = new Delivery(this.#source, feed, {
      isPublic: this.name === undefined,
      mayGoOn: () => this.isStill(feed),
    });
    try {
      // Most listeners are up to date and in one group, which goes first, so that it does not wait for the others.
      const ready = admitted.filter((listener) => listener.mayBegin());
      const groups = [...Map.groupBy(ready, ({ group }) => group).values()];
      for (const group of groups.sort((a, b) => b.length - a.length)) await delivery.arrivals(group);
      if (!isUnnamed) {
        for (const id of edited) await delivery.event('edited', id, admitted);
        for (const id of removed) await delivery.event('gone', id, admitted);
      }
    } catch (error) {
      if (hasChanges) this.#forgetChanges(true);
      throw error;
    }
    await inTurns(admitted, BATCH_SIZE, (listener) => listener.reset());
  }

  #forgetChanges(isUnnamed: boolean): void {
    this.#edited = new Set();
    this.#removed = new Set();
    this.#isUnnamed = isUnnamed;
  }
}

interface DeliveryTerms {
  /** The listeners are readers: they follow the feed by its read id. */
  readonly isPublic: boolean;
  /** Whether the feed still has the settings that the listeners were admitted under. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** One round of delivery: each event is made once for all who get it in this format and with these links. */
class Delivery {
  readonly #source: NoteSource;
  readonly #feed: Feed;
  readonly #terms: DeliveryTerms;
  readonly #encoded = new LRUCache<string, Uint8Array>({
    maxSize: SHARED_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength,
  });

  constructor(source: NoteSource, feed: Feed, terms: DeliveryTerms) {
    this.#source = source;
    this.#feed = feed;
    this.#terms = terms;
  }

  /** Tells listeners at one place what came after it. */
  async arrivals(group: readonly NoteListener[]): Promise<void> {
    const [{ place, isNew }] = group as [NoteListener];
    const { storage } = this.#source;
    const most = isNew ? MAX_CAUGHT_UP : MAX_AT_ONCE;
    const found = place === undefined ? undefined : await storage.arrivals(this.#feed, place, most);
    // If nobody knows what came, the listener goes on from the newest note, and a reset covers the notes before it.
    const isLost = !found || (!found.isComplete && found.notes.length === 0);
    const last = isLost ? await lastArrival(storage, this.#feed) : undefined;
    for (const listener of group) {
      listener.isNew = false;
      listener.owesReset ||= !found?.isComplete;
      if (last) listener.place = last;
    }
    for (const arrival of found?.notes ?? []) {
      const listening = group.filter((listener) => listener.mayTake());
      if (listening.length === 0) return;
      await this.#send('note', arrival.id, listening, (listener, event) => {
        // It may have had to wait since the last one.
        if (event && !listener.mayTake()) return;
        if (event) listener.stream.send(event);
        listener.place = arrival;
      });
    }
  }

  /** Sends an edit or a removal to the listeners that can take it; the others owe their client a reset. */
  async event(event: 'edited' | 'gone', id: NoteId, listeners: readonly NoteListener[]): Promise<void> {
    await this.#send(event, id, listeners, (listener, bytes) => {
      if (!bytes) return;
      if (listener.mayTake()) listener.stream.send(bytes);
      else listener.owesReset = true;
    });
  }

  async #send(
    event: NoteEvent['event'],
    id: NoteId,
    listeners: readonly NoteListener[],
    send: (listener: NoteListener, event: Uint8Array | undefined) => void,
  ): Promise<void> {
    const alike = Map.groupBy(listeners, ({ format, base }) => `${format} ${base}`);
    for (const [, some] of alike) {
      const bytes = await this.#encode(event, id, some[0]!);
      // Asked after the note was read, because a round of many listeners takes seconds.
      if (!(await this.#terms.mayGoOn())) throw new Error('The feed has other settings by now');
      const atOnce = Math.min(BATCH_SIZE, Math.ceil(TURN_BYTES / (bytes?.length ?? 1)));
      await inTurns(some, atOnce, (listener) => send(listener, bytes));
    }
  }

  /** Undefined if there is no such note any more. */
  async #encode(
    event: NoteEvent['event'],
    id: NoteId,
    { format, base }: NoteListener,
  ): Promise<Uint8Array | undefined> {
    if (event === 'gone') return encodeEvent(format, { event, id });
    const key = `${event} ${format} ${base} ${id}`;
    const known = this.#encoded.get(key);
    if (known) return known;
    const note = await this.#source.reader.eventNote(this.#feed, id, {
      base,
      isPublic: this.#terms.isPublic,
    });
    if (!note) return undefined;
    const bytes = encodeEvent(format, { event, id, note });
    this.#encoded.set(key, bytes);
    return bytes;
  }
}

/** A stream of notes. */
export class NoteListener extends Listener {
  readonly format: StreamFormat;
  readonly base: string;
  /** The place up to which the client has all notes; undefined if nobody knows. */
  place: Arrival | NoteId | undefined;
  /** It was told nothing yet. */
  isNew = true;
  /** It has not taken all that there is to tell. */
  isBehind = false;
  /** It has missed something. */
  owesReset = false;

  constructor(
    topic: NoteTopic,
    stream: LiveStream,
    subscription: Subscription,
    { format, base, since }: NoteStreamOptions,
  ) {
    super(topic, stream, subscription);
    this.format = format;
    this.base = base;
    this.place = since;
  }

  /** The same for listeners who get the same next. */
  get group(): string {
    const { place, isNew } = this;
    if (place === undefined) return '';
    return typeof place === 'string' ? `id ${isNew} ${place}` : `place ${isNew} ${place.at} ${place.id}`;
  }

  /** Whether the stream goes on. One by the read id ends if the feed that it told of is gone, or blocked. */
  continuesWith(feed: Feed | undefined): boolean {
    if (this.topic.name !== undefined) return this.admits(feed);
    const isOther = this.key !== undefined && feed?.key !== this.key;
    this.key = feed?.key;
    if (!isOther) return true;
    this.place = undefined;
    if (feed) return true;
    this.stream.send(encodeEvent(this.format, { event: 'reset' }));
    this.stream.end();
    return false;
  }

  /** Whether it can be told what comes after its place. */
  mayBegin(): boolean {
    this.isBehind = false;
    return this.mayTake();
  }

  /** Whether it can take an event now; if not, it is told later. */
  mayTake(): boolean {
    if (this.stream.isClosed) return false;
    this.isBehind ||= !this.stream.isReady;
    return !this.isBehind;
  }

  /** Sends a reset if the client may have notes. A feed without notes sends the same, so nobody finds out which read ids exist. */
  tellOfNoNotes(): void {
    if (this.place === undefined || typeof this.place === 'string') {
      this.owesReset = true;
      this.place = BEFORE_ALL;
    }
    if (this.mayBegin()) this.reset();
  }

  /** Sends a reset that is owed, once the client has taken everything else. */
  reset(): void {
    if (!this.owesReset || !this.mayTake()) return;
    this.owesReset = false;
    this.stream.send(encodeEvent(this.format, { event: 'reset' }));
  }

  drained(): void {
    if (this.isBehind || this.owesReset) this.topic.lookUp();
  }
}
