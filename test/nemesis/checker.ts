/**
 * Whether a history keeps the promises. Values are unique, so each read names the write that it saw: the notes are
 * registers, and Gibbons and Korach's zones (Testing Shared Memories, 1997, section 4) say whether they are linearizable.
 */
import {
  type CutOff,
  type History,
  lineOf,
  type Medium,
  type Operation,
  type Read,
  type Write,
} from './history.ts';

export interface Promises {
  /** How long after an answered write other containers may show what was before, ms: while they hear of changes, and while not. */
  readonly staleMs: { readonly healthy: number; readonly cutOff: number };
  /** The limits under test: how many texts and how many pictures a feed may hold. */
  readonly caps: Readonly<Record<Medium, number>>;
}

/** A broken promise, and the operations that break it. */
export interface Violation {
  readonly rule: string;
  readonly lines: readonly string[];
}

/** How old the oldest value that was shown had been overwritten, ms. */
export interface Staleness {
  healthy: number;
  cutOff: number;
}

export interface Verdict {
  readonly violations: Violation[];
  readonly stalest: Staleness;
}

/** A value of a note, with what wrote it. Deletions of a note are one value, null. */
interface Version {
  readonly value: string | null;
  readonly writes: readonly Write[];
  readonly invokedAt: number;
  /** When it was certainly there: answered, or seen. */
  storedAt: number;
}

/** A read of one note. */
interface Sight {
  readonly read: Read;
  readonly version: Version;
  /** The earliest moment of which it may tell, but for writes through its own container. */
  readonly from: number;
}

/** All values of a note. */
interface Register {
  readonly note: string;
  readonly versions: Map<string | null, Version>;
  readonly sights: Sight[];
}

/** What a post is refused with in a feed that is full. */
const CODES: Readonly<Record<Medium, string>> = { text: 'note_limit', picture: 'image_limit' };

/** Judges a history. */
export function check(history: History, promises: Promises): Verdict {
  return new Checker(history, promises).check();
}

class Checker {
  readonly #history: History;
  readonly #promises: Promises;
  readonly #reads: readonly Read[];
  readonly #writes: readonly Write[];
  readonly #violations: Violation[] = [];
  readonly #stalest: Staleness = { healthy: 0, cutOff: 0 };
  /** By their values. */
  readonly #posts: Map<string, Write[]>;
  readonly #edits: Map<string, Write[]>;
  readonly #deletions: Map<string, Write[]>;

  constructor(history: History, promises: Promises) {
    this.#history = history;
    this.#promises = promises;
    this.#reads = history.operations.filter((one) => one.kind === 'read');
    this.#writes = history.operations.filter((one) => one.kind !== 'read');
    const of = (kind: Write['kind']) => this.#writes.filter((write) => write.kind === kind);
    this.#posts = Map.groupBy(of('post'), ({ value }) => value!);
    this.#edits = Map.groupBy(of('edit'), ({ value }) => value!);
    this.#deletions = Map.groupBy(of('deletion'), ({ note }) => note!);
  }

  check(): Verdict {
    for (const operation of this.#history.operations) this.#checkStatus(operation);
    this.#checkPosts();
    this.#checkCaps();
    for (const register of this.#registers()) {
      this.#checkStaleness(register);
      this.#checkOrder(register);
      this.#checkZones(register);
      this.#checkReplaced(register);
      this.#checkChanged(register);
    }
    return { violations: this.#violations, stalest: this.#stalest };
  }

  #broken(rule: string, operations: readonly Operation[], note?: string): void {
    this.#violations.push({ rule, lines: operations.map((one) => lineOf(one, note)) });
  }

  #checkStatus(operation: Operation): void {
    const { status, code } = operation;
    const isRefused =
      status === 0 || status < 500 || ((status === 503 || status === 507) && code !== undefined);
    if (!isRefused) this.#broken(`answered with ${status}, without a stable code`, [operation]);
  }

  /** A post is one note at most, also after attempts with one key. */
  #checkPosts(): void {
    for (const [value, attempts] of this.#posts) {
      const notes = new Set(attempts.flatMap(({ note, outcome }) => (outcome === 'ok' ? [note!] : [])));
      const reads: Read[] = [];
      for (const read of this.#reads)
        for (const [note, shown] of read.values)
          if (shown === value && !notes.has(note)) {
            notes.add(note);
            reads.push(read);
          }
      // A key names its note while that lives.
      const kept = [...notes].filter((note) => !this.#deletions.has(note));
      if (notes.size > 1 && kept.length === notes.size)
        this.#broken('a post is there twice', [...attempts, ...reads]);
    }
  }

  /** No feed has more notes than it may, and none is refused a note that it has room for. */
  #checkCaps(): void {
    for (const medium of ['text', 'picture'] as const) {
      const cap = this.#promises.caps[medium];
      for (const read of this.#reads) {
        const shown = [...read.values.values()].filter((value) => this.#mediumOf(value) === medium).length;
        if (shown > cap) this.#broken(`${shown} notes where ${cap} are the most`, [read]);
      }
      for (const refused of this.#writes.filter((write) => write.code === CODES[medium])) {
        const most = this.#mostNotes(refused, medium);
        if (most < cap) this.#broken(`refused with at most ${most} notes where ${cap} may be`, [refused]);
      }
    }
  }

  #mediumOf(value: string | null): Medium | undefined {
    const writes = this.#posts.get(value ?? '') ?? this.#edits.get(value ?? '');
    return writes?.[0]?.medium;
  }

  /** How many notes of a kind there may have been in the feed of a write, at some moment while it ran. */
  #mostNotes({ feed, invokedAt, completedAt }: Write, medium: Medium): number {
    let most = 0;
    for (const attempts of this.#posts.values()) {
      const [first] = attempts as [Write];
      if (first.feed !== feed || first.medium !== medium) continue;
      const isBegun = attempts.some((one) => one.outcome !== 'refused' && one.invokedAt < completedAt);
      const note = attempts.find(({ outcome }) => outcome === 'ok')?.note ?? '';
      const isGone = this.#deletions
        .get(note)
        ?.some((one) => one.outcome === 'ok' && one.completedAt < invokedAt);
      if (isBegun && !isGone) most += 1;
    }
    return most;
  }

  /** The notes that anybody knows of. What no write explains is a violation. */
  #registers(): Register[] {
    const registers = new Map<string, Register>();
    const register = (note: string) => {
      const made = registers.get(note) ?? { note, versions: new Map(), sights: [] };
      registers.set(note, made);
      return made;
    };
    for (const [value, attempts] of this.#posts)
      for (const note of new Set(attempts.flatMap(({ note }) => note ?? [])))
        this.#addVersion(register(note), value, attempts);
    for (const [value, attempts] of this.#edits)
      this.#addVersion(register(attempts[0]!.note!), value, attempts);
    for (const [note, attempts] of this.#deletions) this.#addVersion(register(note), null, attempts);
    for (const read of this.#reads) {
      for (const [note, value] of read.values) this.#addSight(register(note), read, value);
      if (read.isWhole) this.#addAbsent(read, registers);
    }
    return [...registers.values()];
  }

  #addVersion(
    { versions, note }: Register,
    value: string | null,
    attempts: readonly Write[],
  ): Version | undefined {
    const writes = attempts.filter(({ outcome }) => outcome !== 'refused');
    if (writes.length === 0) return undefined;
    const stored = writes.filter((write) => write.outcome === 'ok' && write.note === note);
    const version = {
      value,
      writes,
      invokedAt: Math.min(...writes.map(({ invokedAt }) => invokedAt)),
      storedAt: Math.min(Number.POSITIVE_INFINITY, ...stored.map(({ completedAt }) => completedAt)),
    };
    versions.set(value, version);
    return version;
  }

  #addSight(register: Register, read: Read, value: string | null): void {
    const { versions, note, sights } = register;
    // A post that was not answered is known by what it stored.
    const version =
      versions.get(value) ?? this.#addVersion(register, value, this.#posts.get(value ?? '') ?? []);
    if (version === undefined || version.invokedAt > read.completedAt) {
      const others = [...(this.#posts.get(value ?? '') ?? []), ...(this.#edits.get(value ?? '') ?? [])];
      const rule =
        value === null ? 'a note that nobody deleted is not there' : 'shown, but not written there';
      this.#broken(rule, [...(versions.values().next().value?.writes ?? []), ...others, read], note);
      return;
    }
    version.storedAt = Math.min(version.storedAt, read.completedAt);
    sights.push({ read, version, from: read.invokedAt - this.#mayBeStale(read) });
  }

  /** What a whole view does not show is deleted, if it could not be too new for it. */
  #addAbsent(read: Read, registers: ReadonlyMap<string, Register>): void {
    for (const register of registers.values()) {
      if (read.values.has(register.note)) continue;
      const [first] = register.versions.values();
      const post = first?.writes[0];
      if (!first || post?.kind !== 'post' || post.feed !== read.feed) continue;
      const isOwn = first.writes.some((write) => isAnsweredBy(write, read, register.note));
      const age = read.invokedAt - first.storedAt;
      const deleted = register.versions.get(null);
      const isDeleted = deleted !== undefined && deleted.invokedAt < read.completedAt;
      if (!isDeleted && age > 0) this.#note(read, age);
      if (age > (isOwn ? 0 : this.#mayBeStale(read))) this.#addSight(register, read, null);
    }
  }

  /** How old what a read shows may be, ms. */
  #mayBeStale(read: Read): number {
    return this.#promises.staleMs[this.#stateOf(read)];
  }

  #stateOf(read: Read): keyof Staleness {
    const since = read.invokedAt - this.#promises.staleMs.cutOff;
    const isHit = ({ container, from, until }: CutOff) =>
      container === read.container && from <= read.completedAt && until >= since;
    return this.#history.cutOffs.some(isHit) ? 'cutOff' : 'healthy';
  }

  #note(read: Read, age: number): void {
    const state = this.#stateOf(read);
    this.#stalest[state] = Math.max(this.#stalest[state], age);
  }

  /** No value is current while another one certainly is. */
  #checkZones({ note, versions, sights }: Register): void {
    const seen = Map.groupBy(sights, ({ version }) => version);
    const zones = [...versions.values()]
      .filter(({ storedAt }) => storedAt < Number.POSITIVE_INFINITY)
      .map((version) => {
        const all = seen.get(version) ?? [];
        const latest = Math.max(version.invokedAt, ...all.map(({ from }) => from));
        return { version, sights: all, from: version.storedAt, until: latest };
      });
    const forward = zones.filter(({ from, until }) => from < until).sort((a, b) => a.from - b.from);
    const explain = (a: (typeof zones)[number], b: (typeof zones)[number]) => {
      const operations = [a, b].flatMap((zone) => {
        const last = zone.sights.findLast(({ from }) => from === zone.until);
        return [...zone.version.writes, ...(last ? [last.read] : [])];
      });
      this.#broken('not linearizable', operations, note);
    };
    for (let i = 1; i < forward.length; i += 1)
      if (forward[i]!.from < forward[i - 1]!.until) explain(forward[i - 1]!, forward[i]!);
    for (const zone of zones.filter(({ from, until }) => from >= until)) {
      const around = forward.find((other) => other.from < zone.until && zone.from < other.until);
      if (around) explain(around, zone);
    }
  }

  /** Nothing is shown that was overwritten too long ago; at once in the container that overwrote it. */
  #checkStaleness({ note, versions, sights }: Register): void {
    for (const { read, version } of sights)
      for (const later of versions.values()) {
        if (later === version || later.invokedAt <= version.storedAt) continue;
        const own = later.writes.find((write) => isAnsweredBy(write, read, note));
        const age = read.invokedAt - later.storedAt;
        if (age > 0) this.#note(read, age);
        const isOld = own !== undefined && own.completedAt < read.invokedAt;
        if (age <= this.#mayBeStale(read) && !isOld) continue;
        const rule = `shown ${Math.round(age)} ms after it was overwritten`;
        this.#broken(rule, [...version.writes, ...later.writes, read], note);
      }
  }

  /** Who asks one container for one view again is not shown what was before. */
  #checkOrder({ note, sights }: Register): void {
    const groups = Map.groupBy(sights, ({ read }) => `${read.container} ${read.start} ${read.view}`);
    for (const group of groups.values()) {
      const ended = [...group].sort((a, b) => a.read.completedAt - b.read.completedAt);
      const begun = [...group].sort((a, b) => a.read.invokedAt - b.read.invokedAt);
      let newest: Sight | undefined;
      let next = 0;
      for (const sight of begun) {
        for (; ended[next]!.read.completedAt < sight.read.invokedAt; next += 1)
          if (!newest || ended[next]!.version.invokedAt > newest.version.invokedAt) newest = ended[next]!;
        if (!newest || newest.version === sight.version) continue;
        if (newest.version.invokedAt > sight.version.storedAt)
          this.#broken(
            'shown after what overwrote it',
            [...sight.version.writes, ...newest.version.writes, newest.read, sight.read],
            note,
          );
      }
    }
  }

  /** One version is replaced once. */
  #checkReplaced({ note, versions }: Register): void {
    const done = [...versions.values()].flatMap(({ writes }) =>
      writes.filter(({ outcome, replaces }) => outcome === 'ok' && replaces !== undefined),
    );
    for (const writes of Map.groupBy(done, ({ replaces }) => replaces).values())
      if (writes.length > 1) this.#broken('one version was replaced twice', writes, note);
    for (const write of done) {
      const base = versions.get(write.replaces!);
      if (!base) continue;
      for (const other of versions.values())
        if (other.invokedAt > base.storedAt && other.storedAt < write.invokedAt)
          this.#broken('a version was replaced that was no longer there', [...other.writes, write], note);
    }
  }

  /** No edit is refused because of a change that nobody made. */
  #checkChanged({ note, versions }: Register): void {
    for (const edit of [...this.#edits.values()].flat()) {
      const base = versions.get(edit.replaces ?? '');
      if (edit.note !== note || edit.code !== 'changed' || !base) continue;
      const isChanged = [...versions.values()].some(
        (other) => other !== base && other.invokedAt < edit.completedAt && other.storedAt > base.invokedAt,
      );
      if (!isChanged) this.#broken('refused as changed, but it was not', [...base.writes, edit], note);
    }
  }
}

function isAnsweredBy(write: Write, read: Read, note: string): boolean {
  return write.outcome === 'ok' && write.note === note && write.container === read.container;
}
