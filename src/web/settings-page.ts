import type { Feed } from '../feeds/feed.ts';
import { type FeedName, isReadId, type ReadId } from '../feeds/names.ts';
import { fileUrl, readPageUrl, rssUrl } from '../feeds/urls.ts';
import type { Tier } from '../licenses/licenses.ts';
import { copyable, copyableCurl, type Field, field, passwordField } from './forms.ts';
import { type Child, type Html, html } from './html.ts';
import { ANY_PICTURE, draftKey, pictureLimits, SENDING } from './note-forms.ts';
import { page, script } from './page.ts';
import type { Site } from './site.ts';
import { amount, buyLink, noPictures } from './tier.ts';

interface SettingsPage {
  readonly feed: Feed;
  readonly base: string;
  readonly isSaved?: boolean;
  /** The form that was refused, and why. */
  readonly refused?: Refused;
}

interface Refused {
  readonly form: URLSearchParams;
  /** One sentence; it stands on top if the page does not show the field to blame. */
  readonly problem: { readonly message: string; readonly field: string | undefined };
}

/** The settings of a feed. Passwords and licenses that were typed are never shown again. */
export function settingsPage(site: Site, settings: SettingsPage): Buffer {
  const { feed, isSaved = false, refused } = settings;
  const sections = html`${profile(site, settings)}
${titleImage(site, settings)}
${sharing(site, settings)}
${feed.passwordHash !== undefined && privacy(site, settings)}
${license(site, settings)}
${dangerZone(site, settings)}`;
  // A section shows the problem as an alert at its field.
  const isUnblamed = refused !== undefined && !String(sections).includes('role="alert"');
  return page(site, {
    title: 'Settings',
    navigation: html`<nav aria-label="This feed"><a href="${site.root}/${feed.name}">Back to the feed</a></nav>`,
    main: html`<h1>Settings</h1>
${isSaved && html`<p class="done" role="status">Saved.</p>`}
${isUnblamed && html`<p class="error" role="alert">${refused.problem.message}</p>`}
<div class="settings" data-draft="${draftKey(feed.name)}">
${sections}
</div>
${script(site, 'settings')}`,
  });
}

function profile(site: Site, { feed, refused }: SettingsPage): Child {
  return html`<section aria-labelledby="profile">
<h2 id="profile">Profile</h2>
<form method="post" action="${site.root}/${feed.name}/details">
${settingField(refused, feed.title, { name: 'title', label: 'Title', maxLength: 100 })}
${settingField(refused, feed.description, {
  name: 'description',
  label: 'Description',
  maxLength: 500,
  hint: 'Title and description are public: they head the read-only page and the RSS feed.',
})}
${site.signInLabel !== undefined && showSender(feed, refused)}
<p class="actions"><button class="primary">Save changes</button></p>
</form>
</section>`;
}

/** An unchecked box is not sent; then the hidden field before it is the last value. */
function showSender(feed: Feed, refused: Refused | undefined): Child {
  const isChecked = (refused?.form.getAll('show_sender').at(-1) ?? (feed.showSender ? '1' : '0')) === '1';
  return html`<input type="hidden" name="show_sender" value="0">
<label><input type="checkbox" name="show_sender" value="1"${isChecked && html` checked`} aria-describedby="show-sender-hint">
 Show who posted</label>
<p class="hint" id="show-sender-hint">Readers see the names of people who have signed in at what they post. Here they are always shown.</p>`;
}

function titleImage(site: Site, { feed, base }: SettingsPage): Child {
  const { image, title, description, name } = feed;
  return html`<section id="title-image" aria-labelledby="title-image-heading" data-feed="${name}" data-title="${title}"
 data-description="${description}" ${pictureLimits(site)}>
<h2 id="title-image-heading">Title image</h2>
${
  image === undefined
    ? html`<p class="hint">There is none. It would be shown on the read-only page and by feed readers.</p>`
    : html`<p><img class="title-image" src="${fileUrl(base, feed.readId, image)}" alt="The title image of this feed" height="96"></p>`
}
<p class="actions">
${site.takesPictures && html`<button type="button" data-action="choose" disabled>Choose a picture</button>`}
<button type="button" data-action="pick" aria-expanded="false" aria-controls="picks" disabled>Pick one of this feed</button>
${image !== undefined && html`<button type="button" data-action="remove" disabled>Remove</button>`}
</p>
${!site.takesPictures && noPictures(site)}
<noscript><p class="hint">Choosing or removing a title image needs JavaScript.</p></noscript>
<input type="file" hidden accept="${ANY_PICTURE}">
<ul id="picks" class="picks" hidden></ul>
<template><li><button type="button"><img alt="" width="96" height="96" loading="lazy"></button></li></template>
${SENDING}
</section>`;
}

/** Without a form, because nothing may replace what the operator has to put right. */
const NO_READ_LINK = html`<p>There is none: the file of the read id cannot be read. The operator of the service can put it right.</p>`;

function readLinks(base: string, readId: ReadId): Html {
  return html`${copyable('read-link', readPageUrl(base, readId), 'the read link')}
<h3>RSS link</h3>
${copyable('rss-link', rssUrl(base, readId), 'the RSS link')}`;
}

function sharing(site: Site, { feed, base, refused }: SettingsPage): Child {
  const { name, readId } = feed;
  const curl = copyableCurl(site, { base, name, isProtected: feed.passwordHash !== undefined });
  return html`<section aria-labelledby="sharing">
<h2 id="sharing">Sharing</h2>
<h3>Read link</h3>
<p class="hint">For everybody who may read. It does not hold the name of the feed.</p>
${isReadId(readId) ? readLinks(base, readId) : NO_READ_LINK}
${
  curl &&
  html`<h3>Post from a terminal</h3>
<p class="hint">This holds the name of the feed: keep it to yourself.</p>
${curl}`
}
${isReadId(readId) && readIdForm(site, feed, refused)}
</section>`;
}

function readIdForm(site: Site, { name, readId }: Feed, refused: Refused | undefined): Html {
  const hint = 'Changing it changes the links. The current links stop working.';
  // It belongs to another form, so that it does not send the field beside it.
  const random = html`<button form="random" name="read_id" value="">Generate a random one</button>`;
  return html`<form method="post" action="${site.root}/${name}/details">
${
  site.allowsCustomIds
    ? html`${settingField(refused, readId, { name: 'read_id', label: 'Read id', isExact: true, hint })}
<p class="actions"><button>Save read id</button> ${random}</p>`
    : html`<h3>Read id</h3><p><code>${readId}</code></p>
<p class="hint">${hint}</p>
<p class="actions">${random}</p>`
}
</form>
<form id="random" method="post" action="${site.root}/${name}/details"></form>`;
}

function privacy(site: Site, { feed, refused }: SettingsPage): Child {
  const form = (content: Html) =>
    html`<form method="post" action="${site.root}/${feed.name}/access">\n${content}\n</form>`;
  // Both forms have a field `current`; only the one that was sent shows its problem.
  const password = (action: string, name: string, rest: Pick<Field, 'label' | 'autocomplete'>) => {
    const problem = refused?.form.get('action') === action ? problemOf(refused, name) : undefined;
    return passwordField({ id: `${action}-${name}`, name, problem, ...rest });
  };
  return html`<section aria-labelledby="privacy">
<h2 id="privacy">Privacy &amp; access</h2>
<p>This feed has a password. Whoever posts, edits or sees it by its name needs it; the read link needs none.</p>
${form(html`<p class="actions"><button name="action" value="lock">Lock in this browser</button></p>`)}
${form(html`<h3>Change the password</h3>
${password('change', 'current', { label: 'Current password' })}
${password('change', 'next', { label: 'New password', autocomplete: 'new-password' })}
<p class="actions"><button name="action" value="change">Change password</button></p>`)}
${form(html`<h3>Remove the password</h3>
<p class="hint">Then the name alone is the key. It cannot be protected again.</p>
${password('remove', 'current', { label: 'Current password' })}
<p class="actions"><button class="danger" name="action" value="remove">Remove password</button></p>`)}
</section>`;
}

/** Nothing on an instance without licenses. The attached license is never shown. */
function license({ tier, hosted, root }: Site, { feed, refused }: SettingsPage): Child {
  if (tier === undefined || hosted === undefined) return undefined;
  const action = `${root}/${feed.name}/license`;
  return html`<section aria-labelledby="license">
<h2 id="license">License</h2>
${tierSentence(tier, hosted.freeNotes)}
<form method="post" action="${action}">
${field({
  id: 'license-text',
  name: 'license',
  label: tier.until === undefined ? 'License' : 'Another license',
  isRequired: true,
  isExact: true,
  hint: 'Paste the whole license. It is not shown again.',
  problem: problemOf(refused, 'license'),
})}
<p class="actions"><button name="action" value="attach">Attach</button>
${hosted.licenseUrl !== undefined && buyLink(hosted.licenseUrl)}
<a href="${root}/license">What a license is for</a></p>
</form>
${
  feed.license !== undefined &&
  html`<form method="post" action="${action}">
<p class="hint">A license that is detached can be attached to another feed. What this feed has stays.</p>
<p class="actions"><button class="danger" name="action" value="detach">Detach the license</button></p>
</form>`
}
</section>`;
}

function tierSentence({ until, endsSoon, endedOn, notes }: Tier, freeNotes: number): Child {
  if (until !== undefined)
    return html`<p${endsSoon && html` class="warning"`}>This feed has a license until the end of ${until} (UTC).</p>`;
  return html`${endedOn !== undefined && html`<p class="warning">The license of this feed ended on ${endedOn}.</p>`}
<p>This feed is in the free tier: it takes no pictures and at most ${amount(freeNotes)} notes. It has ${amount(notes)}.</p>`;
}

function dangerZone(site: Site, { feed, refused }: SettingsPage): Child {
  return html`<section class="danger-zone" aria-labelledby="danger">
<h2 id="danger">Danger zone</h2>
<p>Deleting the feed removes all its notes and pictures for good, and its read link stays empty for ever.</p>
<form method="post" action="${site.root}/${feed.name}/delete">
${settingField(refused, '', {
  name: 'name',
  label: 'Type the name of the feed to delete it',
  isRequired: true,
  isExact: true,
})}
<p class="actions"><button class="danger">Delete this feed</button></p>
</form>
</section>`;
}

/** A field with its value from the refused form, otherwise the stored one. */
function settingField(refused: Refused | undefined, stored: string, of: Field): Child {
  const { name } = of;
  return field({ ...of, value: refused?.form.get(name) ?? stored, problem: problemOf(refused, name) });
}

function problemOf(refused: Refused | undefined, name: string): string | undefined {
  return refused?.problem.field === name ? refused.problem.message : undefined;
}

/** The page in place of the settings of a feed without notes. */
export function noSettingsPage(site: Site, { name }: { readonly name: FeedName }): Buffer {
  return page(site, {
    title: 'No settings yet',
    main: html`<h1>No settings yet</h1>
<p>A feed has settings once it has a note. <a href="${site.root}/${name}">Back to the feed</a></p>`,
  });
}
