import type { AdmittedFeed, Feed } from '../feeds/feed.ts';
import { type NoteFile, type NoteId, noteFile, parseNoteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { filesUrl, fileUrl } from '../feeds/urls.ts';
import { Refusal } from '../refusals.ts';
import { PAGE_TEXT_BYTES, type Storage } from '../storage/storage.ts';
import { addressOf, pictureReferences } from './note-text.ts';
import { picturesOf } from './picture-sizes.ts';
import type { Renderer } from './renderer.ts';
import type { ReadPlace } from './views/document.ts';

/** Pictures of texts that are looked up because they are on none of the pages that were looked at. */
const MAX_LOOKED_UP = 100;

type PlacedReference = readonly [place: number, reference: string];

interface AttachmentParts {
  readonly storage: Pick<Storage, 'note'>;
  readonly renderer: Pick<Renderer, 'texts'>;
}

/**
 * Finds out, for one view, which pictures are shown in the texts that they came with. Nothing of this is stored, because a text
 * may be edited, also by hand, and may go.
 */
export class Attachments {
  readonly #parts: AttachmentParts;
  readonly #place: ReadPlace;
  /** By picture: the text that shows it, and where among its pictures. */
  readonly #shown = new Map<Note, { readonly text: Note; readonly place: number }>();
  /** Texts that were loaded, by id; undefined if there is none. */
  readonly #loaded = new Map<NoteId, Note | undefined>();
  /** By the text: the pictures that it shows, by what follows the last slash, because parsing all their addresses takes long. */
  readonly #references = new Map<NoteId, ReadonlyMap<string, readonly PlacedReference[]>>();
  /** Pictures that were looked at. */
  readonly #seen = new Set<NoteFile>();
  /** Total size of the texts that were loaded only to see which pictures they show, bytes. */
  #bytes = 0;
  #isComplete = true;

  constructor(parts: AttachmentParts, place: ReadPlace) {
    this.#parts = parts;
    this.#place = place;
  }

  /** False if a text was not rendered that a later request may get rendered. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The view is out of date as soon as one of these expires: pictures that texts show, and the texts. */
  get basis(): readonly Note[] {
    return [...this.#shown].flatMap(([picture, { text }]) => [picture, text]);
  }

  /**
   * Looks at notes of the feed. Returns how many of them, from the first, it has looked at: all, unless the texts of their
   * pictures are longer than `PAGE_TEXT_BYTES` together since the last `forgetTexts`.
   * @throws Refusal `busy` if too many tasks wait
   */
  async add(feed: AdmittedFeed, notes: readonly Note[]): Promise<number> {
    for (const note of notes) if (note.type === 'md') this.#loaded.set(note.id, note);
    const pictures: [picture: Note, text: Note][] = [];
    let count = 0;
    for (const note of notes) {
      const { attachedTo } = note.meta;
      if (note.type !== 'md' && attachedTo !== undefined) {
        if (!this.#loaded.has(attachedTo) && this.#bytes >= PAGE_TEXT_BYTES) break;
        const text = await this.#text(feed, attachedTo);
        if (text && mentionsFile(text, note)) pictures.push([note, text]);
      }
      if (note.type !== 'md') this.#seen.add(noteFile(note.id, note.type));
      count += 1;
    }
    await this.#render(pictures.map(([, text]) => text));
    for (const [picture, text] of pictures) {
      const place = this.#placeIn(text, picture);
      if (place !== -1) this.#shown.set(picture, { text, place });
    }
    return count;
  }

  /**
   * Looks also at the pictures that these texts of the feed name, wherever in the feed they are.
   * @throws Refusal `busy` if too many tasks wait
   */
  async addNamedIn(feed: Feed, texts: readonly Note[]): Promise<void> {
    if (feed.imageCount === 0) return;
    const files = [...picturesOf(texts)].filter((file) => !this.#seen.has(file)).slice(0, MAX_LOOKED_UP);
    const notes = await Promise.all(
      files.map((file) => this.#parts.storage.note(feed, parseNoteFile(file)!.id)),
    );
    await this.add(
      feed,
      notes.filter((note) => note !== undefined),
    );
  }

  /** Lets go of the contents of all texts, so that `add` may load others. What it found out stays. */
  forgetTexts(): void {
    this.#bytes = 0;
    this.#loaded.clear();
    for (const [picture, { text, place }] of this.#shown)
      this.#shown.set(picture, { text: { ...text, content: undefined }, place });
  }

  /** The text that a picture came with and that shows it, if there is one. */
  textOf(picture: Note): Note | undefined {
    return this.#shown.get(picture)?.text;
  }

  /** The pictures that came with a text and that it shows, in the order in which it shows them. */
  picturesOf({ id }: Note): readonly Note[] {
    const shown = [...this.#shown].filter(([, { text }]) => text.id === id);
    return shown.sort(([, a], [, b]) => a.place - b.place).map(([picture]) => picture);
  }

  /** The notes, of which only pictures that their texts show say what they came with. */
  shown<N extends Note>(notes: readonly N[]): readonly N[] {
    return notes.map((note) =>
      note.meta.attachedTo === undefined || this.#shown.has(note)
        ? note
        : { ...note, meta: { ...note.meta, attachedTo: undefined } },
    );
  }

  /**
   * A note as `shown` gives it.
   * @throws Refusal `busy` if too many tasks wait
   */
  async shownNote(feed: AdmittedFeed, note: Note): Promise<Note> {
    await this.add(feed, [note]);
    return this.shown([note])[0]!;
  }

  /** As `shownNote`, but says nothing of its text if that cannot be found out now. */
  async changedNote(feed: AdmittedFeed, note: Note): Promise<Note> {
    try {
      return await this.shownNote(feed, note);
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause;
      return this.shown([note])[0]!;
    }
  }

  async #text(feed: AdmittedFeed, id: NoteId): Promise<Note | undefined> {
    if (!this.#loaded.has(id)) {
      const note = await this.#parts.storage.note(feed, id);
      this.#loaded.set(id, note?.type === 'md' ? note : undefined);
      this.#bytes += note?.content?.byteLength ?? 0;
    }
    return this.#loaded.get(id);
  }

  async #render(texts: readonly Note[]): Promise<void> {
    const left = [...new Set(texts)].filter(({ id }) => !this.#references.has(id));
    if (left.length === 0) return;
    const { notes, isComplete } = await this.#parts.renderer.texts(left, this.#place.readId);
    this.#isComplete &&= isComplete;
    for (const { id, rendered } of notes)
      this.#references.set(id, Map.groupBy(pictureReferences(rendered!).entries(), lastPart));
  }

  /** Where among its pictures a text shows this one; -1 if it does not. */
  #placeIn({ id }: Note, picture: Note): number {
    const { base, readId } = this.#place;
    const url = fileUrl(base, readId, noteFile(picture.id, picture.type));
    const address = URL.parse(url)?.href ?? url;
    const name = address.slice(address.lastIndexOf('/') + 1);
    const folder = filesUrl(base, readId);
    const [place = -1] =
      this.#references
        .get(id)!
        .get(name)
        ?.find(([, reference]) => addressOf(reference, folder) === address) ?? [];
    return place;
  }
}

function lastPart([, reference]: PlacedReference): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** Whether a text has the file name of a picture anywhere. Most texts that do not show it lack the name, so they need not be rendered. */
function mentionsFile({ content }: Note, { id, type }: Note): boolean {
  const { buffer, byteOffset, byteLength } = content!;
  return Buffer.from(buffer, byteOffset, byteLength).includes(noteFile(id, type));
}
