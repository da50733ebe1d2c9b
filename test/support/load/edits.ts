import type { FeedClient } from '../feed-client.ts';
import type { Reply } from '../service.ts';
import { changed, draftOf, formOf, type Note, rewritten, slotOf, TEXT } from './drafts.ts';
import { FeedNotes, type Made } from './feed-notes.ts';
import { answered, Idle, type Load, look, same, type WriteKind } from './write-kind.ts';

/** How many posts each client changes over and over. */
const POSTS = 4;
const CLIENTS = 2;
/** More would take long to compare. */
const MAX_PICTURES = 12;
const WRONG = { 'if-match': '"of another version"' };

/** A note that an answer has told the version of. */
interface Tagged {
  readonly slot: string;
  readonly etag: string;
}

interface Change {
  readonly slot: string;
  readonly notes: readonly Note[];
  readonly send: (feed: FeedClient) => Promise<Reply>;
  readonly isForm?: boolean;
}

/** Replaces notes and changes their metadata, with and without `If-Match`. */
export function edits(load: Load): WriteKind {
  const { random } = load;
  const feeds = Array.from({ length: CLIENTS }, (_, n) => new FeedNotes(load, `edited-${n}`));
  const tagged = new Map<Made, Tagged>();

  /** A way to change a post: what it makes of its notes, and the request. */
  const change = ({ mark, notes, ids }: Made): Change => {
    const all = notes.state!;
    const note = random.oneOf(all);
    const slot = slotOf(note);
    const path = `/notes/${ids.get(slot)}`;
    const withNote = (other: Note) => all.map((one) => (one === note ? other : one));
    const way = random.below(3);
    if (way === 0) {
      const n = load.next();
      const members = random.oneOf<Partial<Note>>([
        { title: `title ${n}`, tags: [mark, `v${n}`] },
        { title: '' },
        ...(slot === TEXT ? [] : [{ alt: `alt ${n}` }]),
      ]);
      const body = JSON.stringify(members);
      return {
        slot,
        notes: withNote(changed(note, members)),
        send: (feed) => feed.send('PATCH', path, body),
      };
    }
    if (way === 1 && slot === TEXT && all.length < MAX_PICTURES) {
      const form = formOf(load, { mark, hasText: true });
      const { content } = form.notes.at(-1)!;
      return {
        slot,
        notes: [...withNote(changed(note, { content })), ...form.notes.slice(0, -1)],
        send: (feed) => feed.with(form.headers).put(path, form.body),
        isForm: true,
      };
    }
    const { note: other, bytes } = rewritten(load, mark, note);
    return {
      slot,
      notes: withNote(other),
      send: (feed) => feed.with({ 'content-type': note.type }).put(path, bytes),
    };
  };

  return {
    name: 'edits',
    clients: CLIENTS,
    write: async (client) => {
      const feed = feeds[client]!;
      if (feed.made.filter(({ notes }) => notes.state?.length !== 0).length < POSTS) {
        await feed.post(random.oneIn(3) ? formOf(load) : draftOf(load));
        return;
      }
      const made = random.oneOf(feed.made.filter(({ notes }) => notes.state?.length));
      if (!made) throw new Idle('no note is certain');
      const { slot, notes, send, isForm = false } = change(made);
      const condition = random.below(4);
      if (condition === 0) {
        answered(await send(feed.client.with(WRONG)), 412);
        return;
      }
      const known = tagged.get(made);
      const isKnown = condition === 1 && known?.slot === slot;
      const sender = feed.client.with(isKnown ? { 'if-match': known.etag } : {});
      const reply = await made.notes.write(notes, 200, () => send(sender));
      if (isForm) feed.learn(made, reply);
      tagged.set(made, { slot, etag: etagOf(reply) });
    },
    check: async () => {
      for (const feed of feeds) {
        const certain = feed.made.filter(({ notes }) => notes.state);
        await feed.check();
        for (const made of feed.made) {
          const { slot, etag } = tagged.get(made) ?? {};
          if (slot === undefined) continue;
          const id = made.ids.get(slot)!;
          const found = etagOf(await look(() => feed.client.get(`/notes/${id}`)));
          if (certain.includes(made)) same(found, etag, `the ETag of a note of ${made.mark}`);
          tagged.set(made, { slot, etag: found });
        }
      }
    },
  };
}

/** The same for a compressed answer. */
function etagOf({ headers }: Reply): string {
  return headers.get('etag')!.replace(/-(gzip|br)"$/, '"');
}
