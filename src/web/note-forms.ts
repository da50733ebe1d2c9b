import { createHash } from 'node:crypto';
import { MAX_FILES_PER_REQUEST, MAX_TEXT_BYTES } from '../feeds/limits.ts';
import { mediaType, type NoteType } from '../feeds/note-types.ts';
import { type ArticleNote, formatTime } from './article.ts';
import { copyableCurl, type PostedFeed } from './forms.ts';
import { type Child, type Html, html, WRITTEN } from './html.ts';
import { type IconName, icon } from './icons.ts';
import { ANY_PICTURE, type Site } from './site.ts';
import { noPictures } from './tier.ts';

/** What a picture input must know for `browser/writing/shrink.ts`. */
export function pictureLimits({ shrinkImageBytes, maxImageBytes }: Site): Child {
  return html`data-shrink="${shrinkImageBytes}" data-largest="${maxImageBytes}"`;
}

/** Why a field breaks its rule, said while it is typed; filled by `browser/writing/rules.ts`. */
function problem(id: string): Html {
  return html`<p class="problem" id="${id}-problem" aria-live="polite"></p>`;
}

/** Attributes of a field with a `problem`. */
function ruled(id: string, name: string): Html {
  return html`id="${id}" name="${name}" ${WRITTEN} aria-describedby="${id}-problem"`;
}

/** The pictures that go with a text, in their order; driven by `browser/writing/picture-list.ts`. */
function pictureRows(site: Site, ids: string): Child {
  const tool = (action: string, name: IconName, label: string) =>
    html`<button type="button" class="tool" data-action="${action}" aria-label="${label}" title="${label}">${icon(name)}</button>`;
  return html`<div class="pictures" ${pictureLimits(site)} data-most="${MAX_FILES_PER_REQUEST}">
<ul class="attachments" aria-label="Pictures of this note"></ul>
${problem(`${ids}-pictures`)}
<template>
<li draggable="true">
<img alt="" width="48" height="48" draggable="false">
<div class="about"><span class="file"></span>
<input class="alt" ${WRITTEN} placeholder="What does it show?" autocomplete="off">
<p class="problem" aria-live="polite"></p>
<p class="notice" role="status"></p><button type="button" class="pill" data-action="clean" hidden>Remove the position</button></div>
<div class="row-tools">${tool('up', 'up', 'Move up')}${tool('down', 'down', 'Move down')}${tool('insert', 'insert', 'Insert into the text')}${tool('remove', 'close', 'Remove')}</div>
</li>
</template>
<input type="file" multiple hidden accept="${ANY_PICTURE}">
</div>`;
}

/** What acts on the selected text; driven by `browser/writing/text-tools.ts`. */
const TOOLS: readonly (readonly [name: IconName, label: string, key?: string])[] = [
  ['bold', 'Bold', 'B'],
  ['italic', 'Italic', 'I'],
  ['link', 'Link', 'K'],
  ['list', 'List'],
  ['code', 'Code'],
];

function tools(site: Site): Html {
  const tool = (name: IconName, label: string, more: Child = false) =>
    html`<button type="button" class="tool" data-tool="${name}" aria-label="${label}" title="${label}"${more}>${icon(name)}</button>`;
  const shortcut = (key?: string) => key !== undefined && html` aria-keyshortcuts="Control+${key}"`;
  return html`<div class="tools" role="group" aria-label="Format">${TOOLS.map(([name, label, key]) => tool(name, label, shortcut(key)))}${
    site.takesPictures && tool('picture', 'Add pictures')
  }${tool('eye', 'Preview', html` aria-pressed="false"`)}</div>`;
}

interface BoxParts {
  /** What its ids begin with. */
  readonly ids: string;
  readonly submit: string;
  /** What is written in. */
  readonly sheet: Child;
  /** Only with a text. */
  readonly tools?: Child;
  readonly title?: string | undefined;
  readonly tags?: readonly string[];
  readonly options: Child;
  readonly cancel?: Child;
}

/** The inside of a box to write in, the same for new notes and edits; driven by `browser/writing/box.ts`. */
function boxParts({ ids, submit, title = '', tags = [], ...parts }: BoxParts): Html {
  return html`<p class="restored" role="status" hidden><span></span> <button type="button" class="pill" data-action="discard">Discard</button></p>
<div class="titled"${title === '' && html` hidden`}><input ${ruled(`${ids}-title`, 'title')} aria-label="Title" placeholder="Title" autocomplete="off" value="${title}">
${problem(`${ids}-title`)}</div>
${parts.sheet}
<div class="bar">
${parts.tools}
<div class="tagging"><input ${ruled(`${ids}-tags`, 'tags')} role="combobox" aria-expanded="false" aria-autocomplete="list" aria-controls="${ids}-known-tags"
 aria-label="Tags, separated by commas" placeholder="Add tags" autocomplete="off" autocapitalize="none" value="${tags.join(', ')}">
<ul class="known-tags" id="${ids}-known-tags" role="listbox" aria-label="Tags of this feed" hidden></ul></div>
${parts.cancel}<button class="primary">${submit}</button>
</div>
${problem(`${ids}-tags`)}
<div class="options"><button type="button" class="pill" data-action="title"${title !== '' && html` hidden`}>Add a title</button>
${parts.options}</div>
${SENDING}`;
}

/** A text with its pictures and its preview. */
function sheet(site: Site, ids: string, text?: string): Html {
  // A parser drops the first line break of a textarea.
  return html`<div class="sheet">
<div><textarea ${ruled(`${ids}-text`, 'text')} rows="1" aria-label="Note" placeholder="Write a note&hellip;" data-longest="${MAX_TEXT_BYTES}">
${text}</textarea>
${problem(`${ids}-text`)}</div>
${
  text !== undefined &&
  html`<div class="theirs" hidden><label for="${ids}-theirs">Theirs <span class="optional">as it is now</span></label>
<textarea id="${ids}-theirs" ${WRITTEN} rows="4" readonly></textarea></div>`
}
<div class="preview text" role="region" aria-label="Preview" tabindex="0" ${WRITTEN} hidden></div>
</div>
${site.takesPictures && pictureRows(site, ids)}`;
}

/** Progress bar and messages of a form that sends something; driven by `browser/page/send.ts`. */
export const SENDING = html`<div class="actions sending" hidden>
<progress max="1" aria-label="Upload"></progress>
<button type="button" data-action="cancel">Cancel</button>
</div>
<p class="status" role="status"></p>
<p class="error" aria-live="assertive"></p>`;

/** A feed as the compose box needs it. */
export interface ComposedFeed extends PostedFeed {
  /** Tells the feed from another one of its name; undefined if there is none yet, so that the form offers a password for it. */
  readonly identity: string | undefined;
  readonly hasNotes: boolean;
}

/** Where a note is written and posted, on the page of a feed; driven by `browser/writing/new-note.ts`. */
export function composeBox(site: Site, feed: ComposedFeed): Html {
  const parts = {
    ids: 'note',
    submit: 'Post',
    sheet: sheet(site, 'note'),
    tools: tools(site),
    options: html`${expiry('note')}
<span class="hint by-hand">Ctrl or &#8984; with Enter posts</span>
${!site.takesPictures && noPictures(site)}
${feed.identity === undefined && PROTECTION}`,
  };
  // A form of another type would be stored as a raw note if its script failed; this one is refused for its fields. The browser restores
  // nothing in it, because the draft would be added to that.
  return html`<form id="compose" class="box" method="post" enctype="multipart/form-data" autocomplete="off" data-feed="${feed.name}"
 data-draft="${draftKey(feed.name)}" data-identity="${feed.identity ?? ''}" aria-label="New note">
${boxParts(parts)}
${OUTDATED_FEED}
</form>
<noscript><p class="hint">Posting in the browser needs JavaScript; the command line does not.</p></noscript>
${WAITING}
${!feed.hasNotes && firstNote(site, feed)}`;
}

/** How long a note may live, as `X-Note-Expires` says it. */
const LIVES = { '1h': '1 hour', '1d': '1 day', '7d': '1 week', '30d': '30 days' };

/** @param now the option for when the note expires as it is, if it does */
function expiry(ids: string, now?: Html): Html {
  return html`<label class="inline" for="${ids}-expires">Expires</label>
<select id="${ids}-expires" name="expires">
${now}<option value="">never</option>
${Object.entries(LIVES).map(([value, text]) => html`<option value="${value}">after ${text}</option>\n`)}</select>`;
}

/** What a post says that was meant for another feed than the one there is now; filled by `browser/writing/outdated.ts`. */
const OUTDATED_FEED = html`<div class="outdated" hidden>
<p role="alert"></p>
<p class="actions"><button type="button" data-action="renew"></button> <a class="button" target="_blank">Open the feed as it is now</a></p>
</div>`;

/** Posts that wait to be sent; filled by `browser/keeping/waiting.ts`. */
const WAITING = html`<section id="waiting" class="waiting" aria-label="Not sent yet" hidden>
<p role="status">Kept here; it will be sent when you are online.</p>
<ul></ul>
<template>
<li>
<p class="excerpt" ${WRITTEN}></p>
<p class="error"></p>
<p class="actions"><button type="button" data-action="send">Send now</button>
<button type="button" data-action="take-back">Take back into the box</button></p>
</li>
</template>
</section>`;

const PROTECTION = html`<div data-empty-feed>
<label for="feed-password">Password for this feed <span class="optional">optional</span></label>
<input id="feed-password" name="password" type="password" maxlength="256" autocomplete="new-password"
 pattern="[!-~]([ -~]*[!-~])?" title="Letters a to z, digits and signs of a keyboard, with no space at either end"
 aria-describedby="feed-password-hint">
<p class="hint" id="feed-password-hint">Protects the feed: without it nobody posts, edits or sees this page, even with the name. It can
 be set only now, with the first note.</p>
</div>`;

function firstNote(site: Site, feed: ComposedFeed): Child {
  const curl = copyableCurl(
    site,
    feed,
    html`<p class="hint">It holds the name of the feed: keep it to yourself.</p>`,
  );
  return html`<section data-empty-feed aria-labelledby="first-note">
<h2 id="first-note">There is no note yet</h2>
<p>Write the first one above${curl && ', or post it from a terminal'}.</p>
${curl && html`<details class="terminal"><summary>Show the command</summary>\n${curl}</details>`}
</section>`;
}

/** Key of a draft in the browser's storage; does not reveal the feed's name. */
export function draftKey(name: string): string {
  return `draft-${createHash('sha256').update(`draft of ${name}`).digest('base64url').slice(0, 22)}`;
}

/** What only the edit of a note shows. */
export interface EditedNote {
  /** The markdown as posted; undefined for a picture. */
  readonly text: string | undefined;
  /** The title that was set, not one taken from the text. */
  readonly title: string | undefined;
  readonly alt: string | undefined;
  /** Of the note's JSON, with its quotes. */
  readonly etag: string;
  /** Tells the feed from another one of its name. */
  readonly identity: string;
}

/** Where a note is edited, in its article on any page; on the note's own page, from where `browser/writing/edit.ts` takes it. */
export function editBox(site: Site, feed: string, note: ArticleNote, edited: EditedNote): Html {
  const { id, type, tags, expires } = note;
  const isText = type === 'md';
  const parts = {
    ids: 'edit',
    submit: 'Save',
    title: edited.title,
    tags,
    sheet: isText ? sheet(site, 'edit', edited.text) : pictureFields(site, type, edited),
    tools: isText && tools(site),
    options: html`${expiry(
      'edit',
      expires === undefined
        ? undefined
        : html`<option value="as it is" selected>${formatTime(expires, 'full', site.timeZone)}</option>\n`,
    )}
${isText && !site.takesPictures && noPictures(site)}`,
    cancel: html`<button type="button" class="pill" data-action="close">Cancel</button>`,
  };
  return html`<template id="edit-box">
<form class="box open" method="post" enctype="multipart/form-data" data-feed="${feed}" data-draft="${draftKey(feed)}" data-identity="${edited.identity}"
 data-id="${id}" data-etag="${edited.etag}" aria-label="Edit this note">
${MEANWHILE}
${boxParts(parts)}
</form>
</template>`;
}

/** What happened to a note while it was edited here; shown by `browser/writing/conflict.ts`. */
const MEANWHILE = html`<div class="meanwhile changed" role="group" aria-labelledby="changed-heading" tabindex="-1" hidden>
<p class="heading" id="changed-heading">This note was changed meanwhile</p>
<p>What you wrote is not saved yet. Below, theirs stands beside yours. Keep theirs, save yours in its place, or change yours until it
 holds both and save that.</p>
<p class="actions"><button type="button" data-action="theirs">Keep theirs</button>
<button type="button" data-action="mine">Save mine in its place</button></p>
</div>
<div class="meanwhile deleted" role="group" aria-labelledby="deleted-heading" tabindex="-1" hidden>
<p class="heading" id="deleted-heading">This note was deleted meanwhile</p>
<p>What you wrote is not saved and stays below.</p>
<p class="actions"><button type="button" data-action="repost">Post mine as a new note</button>
<button type="button" data-action="leave">Leave it deleted</button></p>
</div>`;

function pictureFields(site: Site, type: NoteType, { alt = '' }: EditedNote): Html {
  return html`<div class="picture-fields">
<label for="edit-alt">Alternative text <span class="optional">what the picture shows</span></label>
<input ${ruled('edit-alt', 'alt')} autocomplete="off" value="${alt}">
${problem('edit-alt')}
${
  site.takesPictures
    ? html`<label for="edit-replacement">Another picture <span class="optional">of the same type</span></label>
<input id="edit-replacement" name="replacement" type="file" accept="${mediaType(type)}" ${pictureLimits(site)} aria-describedby="replacement-notice">
<p class="notice" id="replacement-notice" role="status"></p>`
    : noPictures(site)
}
</div>`;
}
