import { field, png } from '../multipart.ts';
import { picture } from '../pictures.ts';
import { draftOf, formOf } from './drafts.ts';
import { FeedNotes } from './feed-notes.ts';
import { answered, type Load, look, type WriteKind } from './write-kind.ts';

const NOBODYS = 'refused';

/** Posts of texts, pictures and forms, to feeds that are there and to feeds that several clients make at once; some are refused. */
export function posts(load: Load): WriteKind {
  const { random } = load;
  const feeds = new Map<string, FeedNotes>();
  let checks = 0;

  const someFeed = () => {
    const name = random.below(3) > 0 ? `old-${random.below(3)}` : `new-${checks}-${random.below(4)}`;
    const feed = feeds.get(name) ?? new FeedNotes(load, name);
    feeds.set(name, feed);
    return feed;
  };
  const refused = async () => {
    const feed = load.stranger(NOBODYS);
    // The form names a picture that it does not have.
    const parts = [field('text', 'x'), png('a.png', picture('png', 4_000)), field('alt.b.png', 'x')];
    answered(await (random.oneIn(2) ? feed.post(' \n') : feed.postForm(parts)), 400);
  };

  return {
    name: 'posts',
    clients: 3,
    write: async () => {
      if (random.oneIn(12)) return refused();
      await someFeed().post(random.oneIn(3) ? formOf(load) : draftOf(load));
    },
    check: async () => {
      checks += 1;
      for (const feed of feeds.values()) await feed.check();
      await look(() => load.stranger(NOBODYS).get(), 404);
    },
  };
}
