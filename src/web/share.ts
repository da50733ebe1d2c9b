import { copyable } from './forms.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';

/** A public page, and the feed to follow for what comes after it. */
interface Shared {
  readonly title: string;
  readonly url: string;
  readonly rssUrl: string;
  readonly jsonUrl: string;
}

/** The ways to pass a public page on and to follow its feed. What the two buttons open needs no script. */
export function sharePills({ title, url, rssUrl }: Shared): Html {
  return html`<a class="button pill rss" href="${rssUrl}">${icon('rss')}RSS</a>
<button type="button" class="pill" popovertarget="subscribe">${icon('bell')}Subscribe</button>
<button type="button" class="pill" popovertarget="share" data-share="${url}" data-heading="${title}">${icon('share')}Share</button>`;
}

/** What the buttons of `sharePills` open; once in a page. */
export function sharePanels({ title, url, rssUrl, jsonUrl }: Shared): Html {
  const mail = `mailto:?subject=${encodeURIComponent(title.toWellFormed())}&body=${encodeURIComponent(url)}`;
  return html`<div popover id="share" role="dialog" aria-labelledby="share-heading">
<h2 id="share-heading">Share this page</h2>
${copyable('share-link', url, 'the link')}
<p class="actions">${qrButton('share-link', 'Share this page')}
<a class="button" href="${mail}">${icon('mail')}E-mail</a> ${closeButton('share')}</p>
</div>
<div popover id="subscribe" role="dialog" aria-labelledby="subscribe-heading">
<h2 id="subscribe-heading">Subscribe</h2>
<p>Paste this address into your feed reader: new notes will appear there by themselves.</p>
${copyable('subscribe-link', rssUrl, 'the address of the feed')}
<p class="actions"><a class="button" href="feed:${rssUrl}">Open in a feed reader</a>
<a class="button" href="${jsonUrl}">JSON Feed</a> ${closeButton('subscribe')}</p>
</div>`;
}

function closeButton(id: string): Html {
  return html`<button type="button" popovertarget="${id}" popovertargetaction="hide">Close</button>`;
}

/**
 * Shows the text of an element as a QR code; works with a script only (`browser/reading/share.ts`).
 * @param heading of the dialog
 */
export function qrButton(id: string, heading: string): Html {
  return html`<button type="button" class="scripted" data-qr="${id}" data-heading="${heading}">${icon('qr')}QR code</button>`;
}
