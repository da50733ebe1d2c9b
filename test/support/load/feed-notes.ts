import pLimit from 'p-limit';
import { type FeedClient, readIdIn } from '../feed-client.ts';
import type { Reply } from '../service.ts';
import { type Draft, markIn, type Note, slotOf, TEXT } from './drafts.ts';
import { Promised } from './promised.ts';
import { bytesAt, type ListedNote, type Load, listed, look, same, sha256 } from './write-kind.ts';

/** Files that are read at once. */
const AT_ONCE = 16;

/** What one request made, and what later ones made of it. At most one request about it is on its way. */
export interface Made {
  readonly mark: string;
  readonly notes: Promised<readonly Note[]>;
  /** Ids by the slots of the notes, as far as they are known; also of those that were deleted. */
  readonly ids: Map<string, string>;
}

/** The notes of a feed from its first post on. They are all made, and changed, through this. */
export class FeedNotes {
  readonly name: string;
  readonly made: Made[] = [];
  /** Known since an answer or a look has shown the feed. */
  readId: string | undefined;
  #isThere = false;
  readonly #load: Load;

  constructor(load: Load, name: string) {
    this.#load = load;
    this.name = name;
  }

  get client(): FeedClient {
    return this.#load.feed(this.name);
  }

  /** Posts a draft. */
  async post({ body, headers, ...draft }: Draft): Promise<Made> {
    const made = this.begin(draft);
    this.learn(made, await made.notes.write(draft.notes, 201, () => this.client.post(body, headers)));
    return made;
  }

  /** Expects notes that nobody has sent yet. */
  begin({ mark }: Pick<Draft, 'mark'>): Made {
    const made = { mark, notes: new Promised<readonly Note[]>(this.#load, []), ids: new Map() };
    this.made.push(made);
    return made;
  }

  /** Takes down what an answer says beyond success: pictures are answered in the order in which they were sent. */
  learn({ notes, ids }: Made, { json }: Reply): void {
    const slots = notes.state!.map(slotOf);
    const answers: { id: string }[] = json.attachments?.length > 0 ? json.attachments : [json];
    const newest = slots.filter((slot) => slot !== TEXT).slice(-answers.length);
    for (const [n, slot] of newest.entries()) ids.set(slot, answers[n]!.id);
    if (slots.includes(TEXT)) ids.set(TEXT, json.id);
    this.#isAt(json.read_url ?? json.file_url);
  }

  /** Throws `Broken` unless the feed has just the notes that it was promised to have. */
  async check(): Promise<void> {
    const from = Date.now();
    const notes = await this.#shown();
    const to = Date.now();
    if (notes[0]) this.#isAt(notes[0].listed.file_url);
    this.#isThere ||= this.readId !== undefined;
    // A post without an answer may have made the feed with notes that have expired since.
    const isInDoubt = this.made.some(({ notes }) => notes.state === undefined);
    const { status } = await look(
      () => this.client.get(),
      ...(this.#isThere ? [200] : isInDoubt ? [200, 404] : [404]),
    );
    this.#isThere = status === 200;
    const byMark = Map.groupBy(notes, ({ mark }) => mark);
    for (const made of this.made) {
      const found = byMark.get(made.mark) ?? [];
      byMark.delete(made.mark);
      const slots = new Set(found.map(({ note }) => slotOf(note)));
      const isShown = (note: Note) => {
        const end = note.expires_at === undefined ? Infinity : Date.parse(note.expires_at);
        return end > to || (end > from && slots.has(slotOf(note)));
      };
      made.notes.settle(
        found.map(({ note }) => inOrder(note)),
        `${made.mark} in ${this.name}`,
        (state) => state.filter(isShown).map(inOrder),
      );
      for (const { listed, note } of found)
        same(listed.id, made.ids.get(slotOf(note)) ?? listed.id, `the id of a note of ${made.mark}`);
      for (const { listed, note } of found) made.ids.set(slotOf(note), listed.id);
    }
    const others = [...byMark.values()].flat().map(({ listed }) => listed);
    same(others, [], `the notes in ${this.name} that nobody has posted`);
  }

  /** All notes, oldest first. */
  async #shown() {
    const notes = await listed((query) => this.client.list(query));
    const atOnce = pLimit(AT_ONCE);
    const bytes = await Promise.all(notes.map(({ file_url }) => atOnce(() => bytesAt(file_url))));
    // Texts may refer to pictures that were deleted.
    const slots = this.made.flatMap(({ ids }) => [...ids].map(([slot, id]) => [id, slot] as const));
    const names = new Map([...slots, ...notes.map(({ id, name }) => [id, name] as const)]);
    const shown = notes.map((note, n) => ({
      listed: note,
      mark: note.tags.find((tag) => /^s\d+$/.test(tag)) ?? markIn(bytes[n]!),
      note: noteOf(note, bytes[n]!, names),
    }));
    return shown.toSorted((a, b) => (a.listed.id < b.listed.id ? -1 : 1));
  }

  #isAt(url: string | null): void {
    const readId = readIdIn(url ?? '');
    this.readId ??= readId;
    same(readId, this.readId, `the read id of ${this.name}`);
  }
}

function noteOf(listed: ListedNote, bytes: Buffer, names: ReadonlyMap<string, string | undefined>): Note {
  const { id, file, size, content } = listed;
  same([size, idIn(file)], [bytes.length, id], `size and name of the file ${file}`);
  if (content === undefined) return { ...listed, content: sha256(bytes) };
  same(content, bytes.toString(), `the content of ${file}, and the file`);
  const named = content.replace(/<([^<>]+)>/g, (_, other) => `<${names.get(idIn(other)) ?? other}>`);
  return { ...listed, content: named };
}

function idIn(file: string): string {
  return file.split('.')[0]!;
}

/** Its members in one order, without what is undefined. */
function inOrder({ type, content, title, alt, name, tags, key, expires_at }: Note): Note {
  return { type, content, title, alt, name, tags, key, expires_at };
}
