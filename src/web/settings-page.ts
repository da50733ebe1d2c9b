import type { Feed } from '../feeds/feed.ts';
import { MAX_KEEP_DAYS, MAX_KEEP_NOTES } from '../feeds/keeping.ts';
import { isReadId } from '../feeds/names.ts';
import { fileUrl, readPageUrl, rssUrl } from '../feeds/urls.ts';
import type { Tier } from '../licenses/licenses.ts';
import { copyable, copyableCurl, EXACT, type Field, field, form } from './forms.ts';
import { type Html, html } from './html.ts';
import { ANY_PICTURE, draftKey, pictureLimits, SENDING } from './note-forms.ts';
import { page, script } from './page.ts';
import type { Site } from './site.ts';
import { buyLink, noPictures, tierSentence } from './tier.ts';

interface SettingsPage {
  readonly feed: Feed;
  readonly base: string;
  /** Tells the feed from another one of its name. */
  readonly identity: string;
  readonly isSaved?: boolean;
  /** The form that was refused, and why. */
  readonly refused?: Refused;
}

interface Refused {
  readonly form: URLSearchParams;
  /** One sentence; it stands on top if the page does not show the field to blame. */
  readonly message: string;
  readonly field: string | undefined;
}

/** The settings of a feed. Passwords and licenses that were typed are never shown again. */
export function settingsPage(site: Site, settings: SettingsPage): string {
  const { feed, isSaved = false, refused } = settings;
  const path = `${site.root}/${feed.name}`;
  const sections = html`${section('profile', 'Profile', profile(site, settings, path))}
${titleImage(site, settings)}
${section('keeping', 'Keeping', keeping(site, settings, path))}
${section('transfer', 'Export & import', transfer(site, settings))}
${section('sharing', 'Sharing', sharing(site, settings, path))}
${feed.passwordHash !== undefined && section('privacy', 'Privacy & access', privacy(refused, path))}
${site.tier && section('license', 'License', license(site, site.tier, settings, path))}
${section('danger', 'Danger zone', deletion(refused, path), html` class="danger-zone"`)}`;
  // A section shows the problem as an alert at its field.
  const isUnblamed = refused !== undefined && !String(sections).includes('role="alert"');
  return page(site, {
    title: 'Settings',
    navigation: html`<nav aria-label="This feed"><a href="${path}">Back to the feed</a></nav>`,
    main: html`<h1>Settings</h1>
${isSaved && html`<p class="done" role="status">Saved.</p>`}
${isUnblamed && html`<p class="error" role="alert">${refused.message}</p>`}
<div class="settings" data-draft="${draftKey(feed.name)}">
${sections}
</div>
${script(site, 'settings')}`,
  });
}

function section(id: string, heading: string, content: Html, attributes?: Html): Html {
  return html`<section aria-labelledby="${id}"${attributes}>
<h2 id="${id}">${heading}</h2>
${content}
</section>`;
}

function profile({ signInLabel }: Site, { feed, refused }: SettingsPage, path: string): Html {
  const hint = 'Title and description are public: they head the read-only page and the RSS feed.';
  const title = { name: 'title', label: 'Title', attributes: html`maxlength="100"` };
  const description = { name: 'description', label: 'Description', hint, attributes: html`maxlength="500"` };
  const fields = html`${settingField(refused, feed.title, title)}
${was('title', feed.title)}${settingField(refused, feed.description, description)}
${was('description', feed.description)}${signInLabel !== undefined && showSender(feed, refused)}
<p class="actions"><button class="primary">Save changes</button></p>`;
  return form(`${path}/details`, fields);
}

/** An unchecked box is not sent; then the hidden field before it is the last value. */
function showSender(feed: Feed, refused: Refused | undefined): Html {
  const isChecked = (refused?.form.getAll('show_sender').at(-1) ?? (feed.showSender ? '1' : '0')) === '1';
  return html`${was('show_sender', feed.showSender ? '1' : '0')}<input type="hidden" name="show_sender" value="0">
<label><input type="checkbox" name="show_sender" value="1"${isChecked && html` checked`} aria-describedby="show-sender-hint">
 Show who posted</label>
<p class="hint" id="show-sender-hint">Readers see the names of people who have signed in at what they post. Here they are always shown.</p>`;
}

function titleImage(site: Site, { feed, base, identity }: SettingsPage): Html {
  const { image, name } = feed;
  return html`<section id="title-image" aria-labelledby="title-image-heading" data-feed="${name}"
 data-identity="${identity}" ${pictureLimits(site)}>
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

/** How long notes are kept. */
function keeping(site: Site, { feed, refused }: SettingsPage, path: string): Html {
  const limit = (name: string, label: string, stored: number | undefined, most: number) => {
    const value = String(stored ?? '');
    return html`<div>${settingField(refused, value, { name, label, attributes: html`inputmode="numeric" maxlength="${String(most).length}"` })}
${was(name, value)}</div>`;
  };
  const asks = refused !== undefined && problemOf(refused, 'removes');
  const fields = html`<p class="hint">Empty keeps all. Older notes, and those beyond the number, are removed for good within a minute; the
 title image stays.${site.keepDays > 0 && ` This instance keeps notes for ${site.keepDays} days at most.`}</p>
<div class="pair">
${limit('keep_days', 'Days to keep a note', feed.keepDays, MAX_KEEP_DAYS)}
${limit('keep_notes', 'Notes to keep', feed.keepNotes, MAX_KEEP_NOTES)}
</div>
${
  asks &&
  html`<p class="error" id="removes-error" role="alert">${asks}</p>
<label><input type="checkbox" name="removes" value="1" aria-describedby="removes-error"> Remove what is older or beyond</label>`
}
<p class="actions"><button>Save</button></p>`;
  return form(`${path}/details`, fields);
}

/** The feed as a file; driven by `browser/import.ts`. */
function transfer({ root }: Site, { feed, identity }: SettingsPage): Html {
  const api = `${root}/api/v1/feeds/${feed.name}`;
  return html`<p class="hint">A zip with all notes and pictures as files. Importing it, here or elsewhere, adds the notes that are missing.</p>
<div id="import" data-path="${api}/import" data-identity="${identity}">
<p class="actions"><a class="button" href="${api}/export" download>Export</a>
<button type="button" data-action="import" disabled>Import</button></p>
<noscript><p class="hint">Importing needs JavaScript.</p></noscript>
<input type="file" hidden accept=".zip,application/zip">
${SENDING}
<ul class="refused" aria-label="Refused files" hidden></ul>
</div>`;
}

function sharing(site: Site, { feed, base, refused }: SettingsPage, path: string): Html {
  const { name, readId } = feed;
  const isProtected = feed.passwordHash !== undefined;
  const aboveCurl = html`<h3>Post from a terminal</h3>
<p class="hint">This holds the name of the feed: keep it to yourself.</p>`;
  // Without a read id there is no form, because nothing may replace what the operator has to put right.
  return html`<h3>Read link</h3>
<p class="hint">For everybody who may read. It does not hold the name of the feed.</p>
${
  isReadId(readId)
    ? html`${copyable('read-link', readPageUrl(base, readId), 'the read link')}
<h3>RSS link</h3>
${copyable('rss-link', rssUrl(base, readId), 'the RSS link')}`
    : html`<p>There is none: the file of the read id cannot be read. The operator of the service can put it right.</p>`
}
${copyableCurl(site, { base, name, isProtected }, aboveCurl)}
${isReadId(readId) && readIdForms(site, readId, refused, `${path}/details`)}`;
}

function readIdForms(site: Site, readId: string, refused: Refused | undefined, action: string): Html {
  const hint = 'Changing it changes the links. The current links stop working.';
  // It belongs to another form, so that it does not send the field beside it.
  const random = html`<button form="random" name="read_id" value="">Generate a random one</button>`;
  const fields = site.allowsCustomIds
    ? html`${settingField(refused, readId, { name: 'read_id', label: 'Read id', hint, attributes: EXACT })}
${was('read_id', readId)}<p class="actions"><button>Save read id</button> ${random}</p>`
    : html`<h3>Read id</h3><p><code>${readId}</code></p>
<p class="hint">${hint}</p>
<p class="actions">${random}</p>`;
  return html`${form(action, fields)}
<form id="random" method="post" action="${action}"></form>`;
}

function privacy(refused: Refused | undefined, path: string): Html {
  // Two forms have a field `current`; only the one that was sent shows its problem.
  const password = (of: 'change' | 'remove', name: 'current' | 'next', label: string) => {
    const problem = refused?.form.get('action') === of ? problemOf(refused, name) : undefined;
    return field({ id: `${of}-${name}`, name, label, problem, password: name === 'next' ? 'new' : name });
  };
  const forms = [
    html`<p class="actions"><button name="action" value="lock">Lock in this browser</button></p>`,
    html`<h3>Change the password</h3>
${password('change', 'current', 'Current password')}
${password('change', 'next', 'New password')}
<p class="actions"><button name="action" value="change">Change password</button></p>`,
    html`<h3>Remove the password</h3>
<p class="hint">Then the name alone is the key. It cannot be protected again.</p>
${password('remove', 'current', 'Current password')}
<p class="actions"><button class="danger" name="action" value="remove">Remove password</button></p>`,
  ];
  return html`<p>This feed has a password. Whoever posts, edits or sees it by its name needs it; the read link needs none.</p>
${forms.map((content) => form(`${path}/access`, content))}`;
}

/** The attached license is never shown. */
function license(site: Site, tier: Tier, { feed, refused }: SettingsPage, path: string): Html {
  const attach = html`${field({
    id: 'license-text',
    name: 'license',
    label: tier.until === undefined ? 'License' : 'Another license',
    attributes: html`${EXACT} required`,
    hint: 'Paste the whole license. It is not shown again.',
    problem: problemOf(refused, 'license'),
  })}
<p class="actions"><button name="action" value="attach">Attach</button>
${buyLink(site)}
<a href="${site.root}/license">What a license is for</a></p>`;
  const detach = html`<p class="hint">A license that is detached can be attached to another feed. What this feed has stays.</p>
<p class="actions"><button class="danger" name="action" value="detach">Detach the license</button></p>`;
  return html`${tierSentence(tier)}
${form(`${path}/license`, attach)}
${feed.license !== undefined && form(`${path}/license`, detach)}`;
}

function deletion(refused: Refused | undefined, path: string): Html {
  const label = 'Type the name of the feed to delete it';
  const fields = html`${settingField(refused, '', { name: 'name', label, attributes: html`${EXACT} required` })}
<p class="actions"><button class="danger">Delete this feed</button></p>`;
  return html`<p>Deleting the feed removes all its notes and pictures for good, and its read link stays empty for ever.</p>
${form(`${path}/delete`, fields)}`;
}

/** What the page shows of a field, so that its form changes only what its sender has changed. */
function was(name: string, stored: string): Html {
  return html`<input type="hidden" name="was_${name}" value="${stored}">\n`;
}

/** A field with its value from the refused form, otherwise the stored one. */
function settingField(refused: Refused | undefined, stored: string, of: Field): Html {
  return field({ ...of, value: refused?.form.get(of.name) ?? stored, problem: problemOf(refused, of.name) });
}

function problemOf(refused: Refused | undefined, name: string): string | undefined {
  return refused?.field === name ? refused.message : undefined;
}

/** The page in place of the settings of a feed without notes. */
export function noSettingsPage(site: Site, name: string): string {
  return page(site, {
    title: 'No settings yet',
    main: html`<h1>No settings yet</h1>
<p>A feed has settings once it has a note. <a href="${site.root}/${name}">Back to the feed</a></p>`,
  });
}
