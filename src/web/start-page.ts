import { randomInt } from 'node:crypto';
import { copyableCurl, copyableInstall, EXACT, field } from './forms.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { page } from './page.ts';
import type { Site } from './site.ts';
import { START_PICTURE } from './start-picture.ts';

export interface StartPage {
  readonly base: string;
  /** Content of the field: a suggested name, or the one that was refused. */
  readonly name: string;
  /** Why the name was refused, one sentence. */
  readonly problem?: string | undefined;
  readonly notice?: Html | undefined;
  readonly isDeleted?: boolean;
  /** Something was shared with the app, and waits for the feed that takes it. */
  readonly isShared?: boolean;
}

/** The page at `/`: what this is, the way to a feed, and the feeds that this browser knows. */
export function startPage(
  site: Site,
  { base, name, problem, notice, isDeleted, isShared }: StartPage,
): string {
  const posted = { base, name: problem === undefined ? name : 'my-secret-feed' };
  const curl = html`<h2>From a terminal</h2>
<p>The answer holds <code>read_url</code>, an RSS feed for everybody else.</p>`;
  return page(site, {
    title: site.title,
    isListed: true,
    head: html`<link rel="stylesheet" href="${site.assets['start-page.css']}">
<script type="module" blocking="render" src="${site.assets['start.js']}"></script>`,
    main: html`${isDeleted && html`<p class="done" role="status">The feed is deleted.</p>`}
${
  isShared
    ? html`<h1>Choose a feed</h1>
<p class="lead">It takes what you have shared.</p>`
    : html`<h1>Write notes, share a feed</h1>`
}
${YOUR_FEEDS}
${!isShared && INTRODUCTION}
${notice && html`<section class="operator-notice" aria-label="Notice">${notice}</section>`}
<form method="post" action="${site.root}/" class="open-feed">
${isShared && html`<input type="hidden" name="shared" value="1">`}
${field({
  name: 'feed',
  label: 'Name of your feed',
  value: name,
  problem,
  hint: 'Keep it like a password. A name that exists already opens that feed.',
  attributes: html`${EXACT} required`,
})}
<p class="actions"><button class="primary">Open</button></p>
</form>
${copyableCurl(site, posted, curl)}
${copyableInstall(site, base)}`,
  });
}

/** What the service is. `styles/start.css` hides it from people who have feeds in this browser. */
const INTRODUCTION = html`<div class="introduction">
${START_PICTURE}
<ol class="steps">
<li><strong>Write</strong> a short note, with pictures, here or from a terminal.</li>
<li><strong>Keep the name</strong> of your feed like a password: it is the key to write.</li>
<li><strong>Share the read link:</strong> a page, and RSS for feed readers.</li>
</ol>
</div>`;

/** Filled by `browser/keeping/feed-list.ts` from what this browser keeps. */
const YOUR_FEEDS = html`<section class="feeds" id="feeds" aria-labelledby="feeds-heading" hidden>
<h2 id="feeds-heading">Your feeds in this browser</h2>
<ul></ul>
<p class="actions"><span class="hint">Only this browser keeps the list.</span>
<button type="button" class="pill" data-action="forget-all">Forget all</button></p>
<template><li><a href=""><bdi></bdi></a><span class="state"></span><button type="button" class="tool">${icon('close')}</button></li></template>
</section>`;

const ADJECTIVES =
  `amber brave brisk calm clear cosy deep early fair gentle golden happy keen kind light lively lucky mellow merry misty
noble pale plain proud quick quiet rapid ready shy silver sunny swift tidy warm wise`.split(/\s/);
const ANIMALS =
  `badger bear beaver bison crane deer dove eagle falcon finch fox gecko goose hare hawk heron ibis jay koala lark lemur lynx
magpie marten mole moose newt otter owl panda puffin raven robin seal stork swan`.split(/\s/);
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
/** 67 bits, without the words. */
const SUFFIX_LENGTH = 13;

/** A feed name that nobody guesses, for example `quiet-otter-x7k2p4m9qd8zr`. */
export function suggestedName(): string {
  const suffix = Array.from({ length: SUFFIX_LENGTH }, () => oneOf(LETTERS));
  return `${oneOf(ADJECTIVES)}-${oneOf(ANIMALS)}-${suffix.join('')}`;
}

function oneOf(choices: readonly string[]): string {
  return choices[randomInt(choices.length)]!;
}
