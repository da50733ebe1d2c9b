import type { FeedName } from '../feeds/names.ts';
import { fileUrl, readPageUrl, rssUrl } from '../feeds/urls.ts';
import type { Feed } from '../storage/storage.ts';
import { draftKey } from './compose-box.ts';
import { copyable } from './copyable.ts';
import { curlLine } from './curl-line.ts';
import { type Field, field } from './field.ts';
import { type Child, html } from './html.ts';
import { licenseGroup } from './license-group.ts';
import { page } from './page.ts';
import { SENDING } from './picture-field.ts';
import { script } from './script.ts';
import type { Site } from './site.ts';
import { noPictures } from './tier.ts';

export interface SettingsPage {
  readonly feed: Feed;
  /** Absolute base of links. */
  readonly base: string;
  /** The last change was made. */
  readonly isSaved?: boolean;
  /** What was typed into the form that was refused, and why it was. */
  readonly refused?: { readonly form: URLSearchParams; readonly problem: FieldProblem } | undefined;
}

/** What is wrong with a form, one sentence. */
export interface FieldProblem {
  readonly message: string;
  /** The field to blame; what is wrong in none that the page shows stands on top. */
  readonly field: string | undefined;
}

/** The settings of a feed. Passwords and licenses that were typed are never shown again. */
export function settingsPage(site: Site, settings: SettingsPage): Buffer {
  const { feed, base, isSaved = false, refused } = settings;
  const isUnblamed = refused !== undefined && !isShown(site, feed, refused.problem.field);
  return page(site, {
    title: 'Settings',
    navigation: html`<nav aria-label="This feed"><a href="${site.root}/${feed.name}">Back to the feed</a></nav>`,
    main: html`<h1>Settings</h1>
${isSaved && html`<p class="done" role="status">Saved.</p>`}
${isUnblamed && html`<p class="error" role="alert">${refused.problem.message}</p>`}
<div class="settings" data-draft="${draftKey(feed.name)}">
${profile(site, settings)}
${titleImage(site, feed, base)}
${sharing(site, settings)}
${feed.passwordHash !== undefined && privacy(site, settings)}
${license(site, settings)}
${dangerZone(site, settings)}
</div>
${script(site, 'settings')}`,
  });
}

/** Whether the page has a field of that name. */
function isShown(site: Site, { passwordHash }: Feed, field: string | undefined): boolean {
  switch (field) {
    case 'title':
    case 'description':
    case 'name':
      return true;
    case 'license':
      return site.tier !== undefined;
    case 'read_id':
      return site.allowsCustomIds;
    case 'current':
    case 'next':
      return passwordHash !== undefined;
    default:
      return false;
  }
}

function profile(site: Site, { feed, refused }: SettingsPage): Child {
  return html`<section aria-labelledby="profile">
<h2 id="profile">Profile</h2>
<form method="post" action="${site.root}/${feed.name}/details">
${field({ name: 'title', label: 'Title', maxLength: 100, ...typed(refused, 'title', feed.title) })}
${field({
  name: 'description',
  label: 'Description',
  maxLength: 500,
  hint: 'Title and description are public: they head the read-only page and the RSS feed.',
  ...typed(refused, 'description', feed.description),
})}
${site.signInLabel !== undefined && showSender(feed, refused)}
<p class="actions"><button class="primary">Save changes</button></p>
</form>
</section>`;
}

/** A box that is not ticked is not sent: then the hidden value before it is the last one. */
function showSender(feed: Feed, refused: SettingsPage['refused']): Child {
  const isShown = (refused?.form.getAll('show_sender').at(-1) ?? (feed.showSender ? '1' : '0')) === '1';
  return html`<input type="hidden" name="show_sender" value="0">
<label><input type="checkbox" name="show_sender" value="1"${isShown && html` checked`} aria-describedby="show-sender-hint">
 Show who posted</label>
<p class="hint" id="show-sender-hint">Readers see the names of people who have signed in at what they post. Here they are always shown.</p>`;
}

function titleImage(site: Site, feed: Feed, base: string): Child {
  const { image } = feed;
  return html`<section id="title-image" aria-labelledby="title-image-heading" data-feed="${feed.name}" data-title="${feed.title}"
 data-description="${feed.description}" data-shrink="${site.shrinkImageBytes}" data-largest="${site.maxImageBytes}">
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
<input type="file" hidden accept="image/png,image/jpeg,image/gif,image/webp">
<ul id="picks" class="picks" hidden></ul>
${SENDING}
</section>`;
}

function sharing(site: Site, { feed, base, refused }: SettingsPage): Child {
  const { name, readId } = feed;
  const curl = curlLine(site, { base, name, isProtected: feed.passwordHash !== undefined });
  return html`<section aria-labelledby="sharing">
<h2 id="sharing">Sharing</h2>
<h3>Read link</h3>
<p class="hint">For everybody who may read. It does not hold the name of the feed.</p>
${copyable('read-link', readPageUrl(base, readId), 'the read link')}
<h3>RSS link</h3>
${copyable('rss-link', rssUrl(base, readId), 'the RSS link')}
${
  curl !== undefined &&
  html`<h3>Post from a terminal</h3>
<p class="hint">This holds the name of the feed: keep it to yourself.</p>
${copyable('curl-line', curl, 'the command')}`
}
<form method="post" action="${site.root}/${name}/details">
${
  site.allowsCustomIds
    ? html`${field({
        name: 'read_id',
        label: 'Read id',
        isExact: true,
        hint: 'Another one makes other links: those of now stop working.',
        ...typed(refused, 'read_id', readId),
      })}
<p class="actions"><button>Save read id</button> ${RANDOM_READ_ID}</p>`
    : html`<h3>Read id</h3><p><code>${readId}</code></p>
<p class="hint">Another one makes other links: those of now stop working.</p>
<p class="actions">${RANDOM_READ_ID}</p>`
}
</form>
<form id="random" method="post" action="${site.root}/${name}/details"></form>
</section>`;
}

/** Of another form than the field beside it, whose value it is not to send. */
const RANDOM_READ_ID = html`<button form="random" name="read_id" value="">Generate a random one</button>`;

function privacy(site: Site, { feed, refused }: SettingsPage): Child {
  const action = `${site.root}/${feed.name}/access`;
  // Two forms have a field of that name; one of them was sent.
  const problemOf = (form: string, name: string) =>
    refused?.form.get('action') === form && refused.problem.field === name
      ? refused.problem.message
      : undefined;
  const password = (form: string, name: string, label: string) =>
    field({
      id: `${form}-${name}`,
      name,
      label,
      type: 'password',
      autocomplete: name === 'next' ? 'new-password' : 'current-password',
      isRequired: true,
      problem: problemOf(form, name),
    });
  return html`<section aria-labelledby="privacy">
<h2 id="privacy">Privacy &amp; access</h2>
<p>This feed has a password. Whoever posts, edits or sees it by its name needs it; the read link needs none.</p>
<form method="post" action="${action}">
<p class="actions"><button name="action" value="lock">Lock in this browser</button></p>
</form>
<form method="post" action="${action}">
<h3>Change the password</h3>
${password('change', 'current', 'Current password')}
${password('change', 'next', 'New password')}
<p class="actions"><button name="action" value="change">Change password</button></p>
</form>
<form method="post" action="${action}">
<h3>Remove the password</h3>
<p class="hint">Then the name alone is the key. It cannot be protected again.</p>
${password('remove', 'current', 'Current password')}
<p class="actions"><button class="danger" name="action" value="remove">Remove password</button></p>
</form>
</section>`;
}

function license(site: Site, { feed, refused }: SettingsPage): Child {
  const problem = refused?.problem.field === 'license' ? refused.problem.message : undefined;
  return licenseGroup(site, { name: feed.name, isAttached: feed.license !== undefined, problem });
}

function dangerZone(site: Site, { feed, refused }: SettingsPage): Child {
  return html`<section class="danger-zone" aria-labelledby="danger">
<h2 id="danger">Danger zone</h2>
<p>Deleting the feed removes all its notes and pictures for good, and its read link stays empty for ever.</p>
<form method="post" action="${site.root}/${feed.name}/delete">
${field({
  name: 'name',
  label: 'Type the name of the feed to delete it',
  isRequired: true,
  isExact: true,
  ...typed(refused, 'name', ''),
})}
<p class="actions"><button class="danger">Delete this feed</button></p>
</form>
</section>`;
}

/** What a field holds: what was typed into the form that was refused, else what is kept. */
function typed(
  refused: SettingsPage['refused'],
  name: string,
  kept: string,
): Pick<Field, 'value' | 'problem'> {
  return {
    value: refused?.form.get(name) ?? kept,
    problem: refused?.problem.field === name ? refused.problem.message : undefined,
  };
}

/** The page in the place of the settings of a feed without notes. */
export function noSettingsPage(site: Site, { name }: { readonly name: FeedName }): Buffer {
  return page(site, {
    title: 'No settings yet',
    main: html`<h1>No settings yet</h1>
<p>A feed has settings once it has a note. <a href="${site.root}/${name}">Back to the feed</a></p>`,
  });
}
