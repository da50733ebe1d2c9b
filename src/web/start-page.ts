import { createHash } from 'node:crypto';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';
import { escapeHtml } from '../read/html.ts';

/** The page at `/`: what this is, and how to post a first note. */
export function startPage(title: string): Representation {
  const body = Buffer.from(html(escapeHtml(title)));
  return new Representation({
    body,
    etag: createHash('sha256').update(body).digest('base64url'),
    fields: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-cache',
      'Content-Security-Policy':
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'Referrer-Policy': 'same-origin',
      'X-Frame-Options': 'DENY',
      ...NOSNIFF,
    },
  });
}

function html(title: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<h1>${title}</h1>
<p>Post a note to a feed of your own. Its name is the key to write to it, so choose one that nobody guesses:</p>
<pre>curl --data-binary @note.md -H 'Content-Type: text/markdown' THIS-ADDRESS/my-secret-feed</pre>
<p>The answer holds the <code>read_url</code>: an RSS feed for everybody else.</p>
</html>
`;
}
