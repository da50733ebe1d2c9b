import { createHash } from 'node:crypto';
import { Representation } from '../http/representation.ts';
import { PAGE_FIELDS, page } from './page.ts';

const START = `<p>Post a note to a feed of your own. Its name is the key to write to it, so choose one that nobody guesses:</p>
<pre>curl --data-binary @note.md -H 'Content-Type: text/markdown' THIS-ADDRESS/my-secret-feed</pre>
<p>The answer holds the <code>read_url</code>: an RSS feed for everybody else.</p>`;

/** The page at `/`: what this is, and how to post a first note. */
export function startPage(title: string): Representation {
  return representation(page(title, START));
}

function representation(body: Buffer): Representation {
  const etag = createHash('sha256').update(body).digest('base64url');
  return new Representation({ body, etag, fields: { ...PAGE_FIELDS, 'Cache-Control': 'no-cache' } });
}
