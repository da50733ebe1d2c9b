import type { Feed } from '../feeds/feed.ts';
import { MAX_KEEP_DAYS, MAX_KEEP_NOTES } from '../feeds/keeping.ts';
import { isReadId } from '../feeds/names.ts';
import { fileUrl, readPageUrl, rssUrl } from '../feeds/urls.ts';
import type { Tier } from '../licenses/licenses.ts';
import { secretAddress, UNTITLED } from './feed-name.ts';
import { copyable, copyableCurl, copyableInstall, EXACT, type Field, field, form } from './forms.ts';
import { type Html, html, WRITTEN } from './html.ts';
import { icon } from './icons.ts';
import { draftKey, pictureLimits, SENDING } from './note-forms.ts';
import { page, script, soleCard } from './page.ts';
import { qrButton } from './share.ts';
import { ANY_PICTURE, type Site } from './site.ts';
import { buyLink, noPictures, tierSentence } from './tier.ts';

/** The sections of the page, by their ids: what each is called, and what it says once it is saved. */
const SECTIONS = {
  profile: ['Profile', 'The profile is saved.'],
  'title-image': ['Title image', 'The title image is saved.'],
  sharing: ['Sharing', 'Sharing is saved.'],
  keeping: ['Keeping', 'The limits for notes are saved.'],
  transfer: ['Export & import', 'The import is done.'],
  privacy: ['Privacy & access', 'The password is changed.'],
  license: ['License', 'The license is saved.'],
  danger: ['Danger zone', 'Done.'],
} as const;

type SectionId = keyof typeof SECTIONS;

interface SettingsPage {
  readonly feed: Feed;
  readonly base: string;
  /** Tells the feed from another one of its name. */
  readonly identity: string;
  /** What was saved: the id of a section, or any other text for a change that names none; undefined for nothing. */
  readonly saved?: string | undefined;
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
  const { feed, saved, refused } = settings;
  const path = `${site.root}/${feed.name}`;
  const contents: Partial<Record<SectionId, Html>> = {
    profile: profile(site, settings, path),
    'title-image': titleImage(site, settings),
    sharing: sharing(site, settings, path),
    keeping: keeping(site, settings, path),
    transfer: transfer(site, settings),
    ...(feed.passwordHash !== undefined && { privacy: privacy(refused, path) }),
    ...(site.tier && { license: license(site, site.tier, settings, path) }),
    danger: deletion(settings, path),
  };
  const shown = Object.entries(contents) as [SectionId, Html][];
  const sections = html`${shown.map(([id, content]) => section(id, content, id === saved))}`;
  // A section shows the problem as an alert at its field.
  const isUnblamed = refused !== undefined && !String(sections).includes('role="alert"');
  const isUnnamed = saved !== undefined && !Object.hasOwn(contents, saved);
  return page(site, {
    title: `Settings · ${feed.title || UNTITLED}`,
    head: html`<link rel="stylesheet" href="${site.assets['settings-page.css']}">`,
    navigation: html`<nav aria-label="This feed"><a href="${path}">Back to the feed</a></nav>`,
    main: html`<h1>Settings</h1>
${isUnnamed && doneLine('Saved.')}
${isUnblamed && html`<p class="alert" tabindex="-1" autofocus role="alert">${refused.message}</p>`}
<div class="settings" data-draft="${draftKey(feed.name)}">
<nav class="contents" aria-label="Settings"><ul>
${shown.map(([id]) => html`<li><a href="#${id}">${SECTIONS[id][0]}</a></li>\n`)}</ul></nav>
<div>
${sections}
</div>
</div>
${script(site, 'settings')}`,
  });
}

function section(id: SectionId, content: Html, isSaved: boolean): Html {
  const [heading, saved] = SECTIONS[id];
  return html`<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading}</h2>
${isSaved && doneLine(saved)}${content}
</section>
`;
}

/** Says that a form is saved. The line gets the focus, so that the page scrolls to it. */
function doneLine(sentence: string): Html {
  return html`<p class="done" tabindex="-1" autofocus role="status">${sentence}</p>\n`;
}

/** A form of a section, which says where the page should open once it is saved. */
function sectionForm(id: SectionId, action: string, content: Html): Html {
  return form(action, html`<input type="hidden" name="section" value="${id}">\n${content}`);
}

function profile({ providers }: Site, { feed, refused }: SettingsPage, path: string): Html {
  const title = { name: 'title', label: 'Title', attributes: html`maxlength="100" ${WRITTEN}` };
  const description = {
    name: 'description',
    label: 'Description',
    attributes: html`maxlength="500" ${WRITTEN}`,
  };
  const senders = {
    name: 'show_sender',
    label: 'Show who posted',
    hint: 'Readers see who posted each note, if that person had signed in. Here the name always shows.',
    isOn: feed.showSender,
  };
  const fields = html`<p class="hint">Public: they head the read-only page and the RSS feed.</p>
${settingField(refused, feed.title, title)}
${shownValue('title', feed.title)}${settingField(refused, feed.description, description)}
${shownValue('description', feed.description)}${providers.length > 0 && checkbox(refused, senders)}
<p class="actions"><button class="primary">Save changes</button></p>`;
  return sectionForm('profile', `${path}/details`, fields);
}

interface Checkbox {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** As it is stored. */
  readonly isOn: boolean;
}

/** An unchecked box is not sent; then the hidden field before it is the last value. */
function checkbox(refused: Refused | undefined, { name, label, hint, isOn }: Checkbox): Html {
  const isChecked = (refused?.form.getAll(name).at(-1) ?? (isOn ? '1' : '0')) === '1';
  return html`${shownValue(name, isOn ? '1' : '0')}<input type="hidden" name="${name}" value="0">
<label class="check"><input type="checkbox" id="${name}" name="${name}" value="1"${isChecked && html` checked`} aria-describedby="${name}-hint">
 ${label}</label>
<p class="hint" id="${name}-hint">${hint}</p>`;
}

/** Driven by `browser/feed-settings/title-image.ts`. */
function titleImage(site: Site, { feed, base, identity }: SettingsPage): Html {
  const { image, name, readId } = feed;
  return html`<p class="hint">Shown beside the title on the read-only page and by feed readers.</p>
<div id="image" data-feed="${name}" data-identity="${identity}" ${pictureLimits(site)}>
<div class="picture">
<div class="preview">${image !== undefined && isReadId(readId) && titlePicture(fileUrl(base, readId, image))}</div>
<div>
<p class="actions">
${site.takesPictures && html`<button type="button" data-action="choose" disabled>${icon('picture')}Choose a picture</button>`}
<button type="button" data-action="pick" aria-expanded="false" aria-controls="picks" disabled>Pick one of this feed</button>
<button type="button" class="danger" data-action="remove"${image === undefined && html` hidden`} disabled>Remove</button>
</p>
${site.takesPictures ? html`<p class="hint by-hand">Or drop one here.</p>` : noPictures(site)}
<noscript><p class="hint">Choosing or removing a title image needs JavaScript.</p></noscript>
</div>
</div>
<input type="file" hidden accept="${ANY_PICTURE}">
<ul id="picks" class="picks" hidden></ul>
<template><li><button type="button"><img alt="" width="96" height="96" loading="lazy"></button></li></template>
<template class="shown">${titlePicture(undefined)}</template>
${SENDING}
</div>`;
}

function titlePicture(url: string | undefined): Html {
  return html`<img class="title-image"${url !== undefined && html` src="${url}"`} alt="The title image of this feed" width="96" height="96">`;
}

/** How long notes are kept. */
function keeping(site: Site, { feed, refused }: SettingsPage, path: string): Html {
  const limit = (name: string, label: string, stored: number | undefined, most: number) => {
    const value = String(stored ?? '');
    return html`<div>${settingField(refused, value, { name, label, attributes: html`inputmode="numeric" maxlength="${String(most).length}"` })}
${shownValue(name, value)}</div>`;
  };
  const asks = problemOf(refused, 'removes');
  const fields = html`<p class="hint">Empty keeps all. Older notes, and those beyond the number, are removed for good within a minute; the
 title image stays.${site.keepDays > 0 && ` This instance keeps notes for ${site.keepDays} days at most.`}</p>
<div class="pair">
${limit('keep_days', 'Days to keep a note', feed.keepDays, MAX_KEEP_DAYS)}
${limit('keep_notes', 'Notes to keep', feed.keepNotes, MAX_KEEP_NOTES)}
</div>
${
  asks &&
  html`<p class="error" id="removes-error" role="alert">${asks}</p>
<label class="check"><input type="checkbox" name="removes" value="1" aria-describedby="removes-error" autofocus> Remove what is older or beyond</label>`
}
<p class="actions"><button>Save what is kept</button></p>`;
  return sectionForm('keeping', `${path}/details`, fields);
}

/** The feed as a file; driven by `browser/feed-settings/import.ts`. */
function transfer({ root }: Site, { feed, identity }: SettingsPage): Html {
  const api = `${root}/api/v1/feeds/${feed.name}`;
  return html`<p class="hint">A zip with all notes and pictures as files. Importing it, here or elsewhere, adds the notes that are missing.</p>
<div id="import" data-path="${api}/import" data-identity="${identity}">
<p class="actions"><a class="button" href="${api}/export" download>${icon('download')}Export</a>
<button type="button" data-action="import" disabled>${icon('upload')}Import</button></p>
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
  // Without a read id there is no form for it, because the operator has to repair its file first.
  return html`<h3>Read link</h3>
<p class="hint">For everybody who may read. It does not hold the name of the feed.</p>
${
  isReadId(readId)
    ? html`${copyable('read-link', readPageUrl(base, readId), 'the read link', qrButton('read-link', 'Read link'))}
<h3>RSS link</h3>
${copyable('rss-link', rssUrl(base, readId), 'the RSS link')}
${listing(feed, refused, path)}
${readIdForms(site, readId, refused, path)}`
    : html`<p>There is none: the file of the read id cannot be read. The operator of the service can put it right.</p>`
}
<h3>Address to write here</h3>
<p class="hint">It is the key to this feed. Keep it, and give it only to those who may write.</p>
<details class="secret"><summary>${icon('key')}Show the address</summary>
${secretAddress(base, name)}</details>
${copyableCurl(site, { base, name, isProtected }, aboveCurl)}
${copyableInstall(site, base)}
${bookmarklet(base, name)}`;
}

/** A bookmark that opens the feed with the address of the page that is shown, and what is selected there. */
function bookmarklet(base: string, name: string): Html {
  const selection = `String(getSelection()).slice(0,1000).replace(/^(?=.)/gm,'> ')`;
  const query = `'title='+encodeURIComponent(document.title)+'&text='+encodeURIComponent(location.href+'\\n\\n'+${selection})`;
  const code = `javascript:location.href='${base}/${name}?'+${query}`;
  return html`<h3>Post from another page</h3>
<p class="hint">Drag this link to the bookmarks of your browser: it opens the feed with the page that you look at in the box. It holds the
 name of the feed.</p>
<details class="secret"><summary>${icon('key')}Show the bookmark</summary>
<p class="actions"><a class="button" href="${code}">Note this page</a></p>
${copyable('bookmarklet', code, 'the bookmarklet')}</details>`;
}

function listing({ listed }: Feed, refused: Refused | undefined, path: string): Html {
  const box = {
    name: 'listed',
    label: 'Search engines may list the read page',
    hint: 'Otherwise the page and those of its notes ask them not to.',
    isOn: listed,
  };
  const fields = html`${checkbox(refused, box)}
<p class="actions"><button>Save</button></p>`;
  return sectionForm('sharing', `${path}/details`, fields);
}

/** Both forms end the links that were shared, so they ask before they do: in a dialog, or without JavaScript on the page. */
function readIdForms(site: Site, readId: string, refused: Refused | undefined, path: string): Html {
  const action = `${path}/details`;
  const asks = problemOf(refused, 'sure');
  const chosen = refused?.form.get('read_id') ?? '';
  if (asks !== undefined)
    return html`<div class="ask" role="alert" tabindex="-1" autofocus>
${changeLinks({ action, readId, chosen }, html`<a class="button" href="${path}/settings#sharing">Keep them</a>`)}
</div>`;
  const hint = 'Changing it changes the links. The current links stop working.';
  // The button belongs to another form, so that the field beside it is not sent.
  const random = html`<button form="random" name="read_id" value="">Generate a random one</button>`;
  const fields = site.allowsCustomIds
    ? html`${settingField(refused, readId, { name: 'read_id', label: 'Read id', hint, attributes: EXACT })}
${shownValue('read_id', readId)}<p class="actions"><button>Save read id</button> ${random}</p>`
    : html`<h3>Read id</h3><p><code>${readId}</code></p>
<p class="hint">${hint}</p>
<p class="actions">${random}</p>`;
  return html`<div class="read-id">
${form(action, fields)}
<form id="random" method="post" action="${action}"></form>
</div>
<dialog id="change-links" aria-labelledby="change-links-heading">
${changeLinks({ action, readId, chosen: '' }, html`<button formmethod="dialog" autofocus>Keep them</button>`)}
</dialog>`;
}

/**
 * @param readId the one that the page shows
 * @param keep what leaves the links as they are
 */
function changeLinks(
  { action, readId, chosen }: { readonly action: string; readonly readId: string; readonly chosen: string },
  keep: Html,
): Html {
  const fields = html`<h2 id="change-links-heading">Change all links?</h2>
<p>All links of this feed that were shared stop working at once and for good: its page, the pages of its notes, and RSS. Whoever
 follows it has to be told the new link. The notes stay.</p>
<input type="hidden" name="sure" value="1"><input type="hidden" name="read_id" value="${chosen}">
${shownValue('read_id', readId)}<p class="actions"><button class="danger">Change all links</button> ${keep}</p>`;
  return sectionForm('sharing', action, fields);
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
${forms.map((content) => sectionForm('privacy', `${path}/access`, content))}`;
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
${sectionForm('license', `${path}/license`, attach)}
${feed.license !== undefined && sectionForm('license', `${path}/license`, detach)}`;
}

function deletion({ identity, refused }: SettingsPage, path: string): Html {
  const label = 'Type the name of the feed to delete it';
  const fields = html`${settingField(refused, '', { name: 'name', label, attributes: html`${EXACT} required` })}
<input type="hidden" name="identity" value="${identity}">
<p class="actions"><button class="danger">Delete this feed</button></p>`;
  return html`<p>Deleting the feed removes all its notes and pictures for good, and its read link stays empty for ever.</p>
${form(`${path}/delete`, fields)}`;
}

/** A hidden field with the value that the page shows, so that the service changes only the fields that the person has changed. */
function shownValue(name: string, stored: string): Html {
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
    main: soleCard(
      'No settings yet',
      html`<p>A feed has settings once it has a note.</p>
<p class="actions"><a class="button primary" href="${site.root}/${name}">Write the first one</a></p>`,
    ),
  });
}
