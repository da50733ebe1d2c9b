/** What the service should hold, in the simplest form: maps and lists in memory. */

export type Type = 'md' | 'png' | 'jpg' | 'gif' | 'webp';

/** What is kept beside a note's bytes; empty where there is nothing. */
export interface Meta {
  readonly title: string;
  readonly alt: string;
  readonly name: string;
  readonly tags: readonly string[];
}

export interface ModelNote {
  readonly id: string;
  readonly type: Type;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly meta: Meta;
  /** The id of the text that a picture came with. */
  readonly attachedTo?: string;
}

export interface ModelFeed {
  readonly readId: string;
  readonly title: string;
  readonly description: string;
  readonly showSender: boolean;
  readonly listed: boolean;
  /** The file of the title image; empty for none. */
  readonly image: string;
  /** Empty for an open feed. */
  readonly password: string;
  /** Newest first. */
  readonly notes: readonly ModelNote[];
}

/** How a request ends: its status, and the code of a refusal. */
export type Outcome =
  | 200
  | 201
  | 204
  | '400 invalid_body'
  | '400 invalid_request'
  | '401 auth'
  | '404 not_found'
  | '409 feed_exists'
  | '409 taken'
  | '415 unsupported_type';

/** The feeds of one run, and the read ids that nobody gets again. */
export class Model {
  readonly feeds = new Map<string, ModelFeed>();
  /** Read ids of deleted feeds. */
  readonly retired = new Set<string>();
  /** Read ids that a feed had once. */
  readonly seen = new Set<string>();

  /** Whether a request with this password (empty: none) may read and change a feed; undefined when it may. */
  refusal(name: string, password: string): '401 auth' | '404 not_found' | undefined {
    const feed = this.feeds.get(name);
    if (feed === undefined) return '404 not_found';
    return feed.password === '' || feed.password === password ? undefined : '401 auth';
  }

  isTaken(readId: string, name: string): boolean {
    const isAnothers = [...this.feeds].some(([other, feed]) => other !== name && feed.readId === readId);
    return isAnothers || this.retired.has(readId);
  }

  /** Puts a feed in place of what was there. */
  put(name: string, feed: ModelFeed): void {
    this.feeds.set(name, feed);
    this.seen.add(feed.readId);
  }

  delete(name: string): void {
    const feed = this.feeds.get(name);
    if (feed === undefined) return;
    this.retired.add(feed.readId);
    this.feeds.delete(name);
  }

  /** Read ids that feeds had and have no more. */
  get left(): string[] {
    const now = new Set([...this.feeds.values()].map(({ readId }) => readId));
    return [...this.seen].filter((readId) => !now.has(readId));
  }
}

export function fileOf({ id, type }: Pick<ModelNote, 'id' | 'type'>): string {
  return `${id}.${type}`;
}

/** The text that a picture came with and that shows it. Texts of the runs refer to pictures in paragraphs of their own only. */
export function textOf(note: ModelNote, { notes }: Pick<ModelFeed, 'notes'>): ModelNote | undefined {
  const text = notes.find(({ id }) => id === note.attachedTo);
  return text?.bytes.includes(fileOf(note)) ? text : undefined;
}

/** A note as lists show it, without its addresses and date. */
export function shown(note: ModelNote, feed: Pick<ModelFeed, 'notes'>): Record<string, unknown> {
  const cameWith = textOf(note, feed);
  const { id, type, bytes, meta } = note;
  const text = bytes.toString();
  return {
    id,
    type: MEDIA[type],
    file: fileOf(note),
    size: bytes.length,
    title: meta.title || (type === 'md' ? headingOf(text) : meta.alt || meta.name),
    ...(type === 'md' && { content: text }),
    ...(meta.alt !== '' && { alt: meta.alt }),
    ...(meta.name !== '' && { name: meta.name }),
    tags: meta.tags,
    ...(cameWith && { attached_to: cameWith.id }),
  };
}

export const MEDIA: Readonly<Record<Type, string>> = {
  md: 'text/markdown',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** The texts of the runs all start with a word, which may be a heading. */
function headingOf(text: string): string {
  return text.split('\n', 1)[0]?.replace(/^# /, '') ?? '';
}
