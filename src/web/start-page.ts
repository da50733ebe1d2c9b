import { html } from './html.ts';
import { page } from './page.ts';
import type { Site } from './site.ts';

/** The page at `/`: what this is, and how to post a first note. `base` is the instance's address. */
export function startPage(site: Site, base: string): Buffer {
  return page(site, {
    title: site.title,
    isListed: true,
    main: html`<h1>${site.title}</h1>
<p>Post a note to a feed of your own. Its name is the key to write to it, so choose one that nobody guesses:</p>
<pre><code>curl --data-binary @note.md -H 'Content-Type: text/markdown' ${base}/my-secret-feed</code></pre>
<p>The answer holds the <code>read_url</code>: an RSS feed for everybody else.</p>`,
  });
}

/** The page at `/login` of a locked instance. */
export function loginPage(site: Site, base: string): Buffer {
  return page(site, {
    title: 'Log in',
    main: html`<h1>Log in</h1>
<p>This instance has a password. Send it with each request:</p>
<pre><code>curl --data-binary @note.md -H 'Content-Type: text/markdown' -H 'Authorization: Bearer PASSWORD' ${base}/my-secret-feed</code></pre>
<p>Read links need no password.</p>`,
  });
}
