import { readIdIn } from '../../support/feed-client.ts';
import { SentForms } from '../../support/sent-forms.ts';
import { type SentNote, SentNotes, shownOf } from '../../support/sent-notes.ts';
import { answered, Broken, bytesAt, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

/** A post of a note that was answered with 201. */
interface Acknowledged {
  readonly note: Omit<SentNote, 'bytes'>;
  readonly id: string;
  readonly file: string;
  readonly readId: string;
}

/** Posts of texts, pictures and forms, to feeds that are there and to feeds that several clients make at once. */
export function posts(load: Load): WriteKind {
  const sent = new SentNotes();
  const sentForms = new SentForms();
  const acknowledged: Acknowledged[] = [];
  const forms: { readonly tag: string; readonly feed: string }[] = [];
  const feeds = new Set<string>();
  let checks = 0;

  const someFeed = () => {
    const { random } = load;
    const feed = random.below(3) > 0 ? `old-${random.below(3)}` : `new-${checks}-${random.below(4)}`;
    feeds.add(feed);
    return feed;
  };

  const checkFeed = async (feed: string) => {
    const notes = await listed(feedOf(load, feed));
    const byForm = Map.groupBy(notes, ({ tags }) => tags.find((tag: string) => tag.startsWith('form-')));
    for (const [tag, its] of byForm)
      if (tag !== undefined && !(await sentForms.isWhole(tag, feed, its)))
        throw new Broken(`of ${tag} there is ${JSON.stringify(its)}`);
    const lostForm = forms.find((form) => form.feed === feed && !byForm.has(form.tag));
    if (lostForm) throw new Broken(`${lostForm.tag} is lost`);
    const found = new Map<string, string>();
    for (const note of byForm.get(undefined) ?? []) {
      const bytes = await bytesAt(note.file_url);
      const source = sent.find(bytes);
      const shown = { feed, ...shownOf(note), content: note.content ?? bytes.toString() };
      same(shown, { feed: source?.feed, ...source?.shown, content: bytes.toString() }, `${note.file}`);
      found.set(`${note.id} ${note.file} ${readIdIn(note.file_url)}`, source!.key);
    }
    for (const { note, id, file, readId } of acknowledged)
      if (note.feed === feed && found.get(`${id} ${file} ${readId}`) !== note.key)
        throw new Broken(`${file} is lost`);
  };

  return {
    name: 'posts',
    clients: 3,
    write: async () => {
      const feed = someFeed();
      if (load.random.below(3) === 0) {
        const { tag, headers, bytes } = sentForms.next(feed);
        answered(await feedOf(load, feed).post(new Uint8Array(bytes), headers), 201);
        forms.push({ tag, feed });
        return;
      }
      const { bytes, ...note } = sent.next(feed);
      const { json } = answered(
        await feedOf(load, feed).post(new Uint8Array(bytes), asSent(note.headers)),
        201,
      );
      acknowledged.push({ note, id: json.id, file: json.file, readId: readIdIn(json.read_url) });
    },
    check: async () => {
      checks += 1;
      for (const feed of feeds) await checkFeed(feed);
    },
  };
}

/** The fields as `fetch` takes them, a character for each byte of UTF-8. */
function asSent(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  );
}
