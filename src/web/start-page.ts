import { randomInt } from 'node:crypto';
import { copyableCurl, EXACT, field } from './forms.ts';
import { type Html, html } from './html.ts';
import { page, script } from './page.ts';
import type { Site } from './site.ts';

export interface StartPage {
  readonly base: string;
  /** Content of the field: a suggested name, or the one that was refused. */
  readonly name: string;
  /** Why the name was refused, one sentence. */
  readonly problem?: string | undefined;
  readonly notice?: Html | undefined;
  readonly isDeleted?: boolean;
}

/** The page at `/`: what this is, and the way to a feed. */
export function startPage(site: Site, { base, name, problem, notice, isDeleted }: StartPage): string {
  const posted = { base, name: problem === undefined ? name : 'my-secret-feed' };
  const curl = html`<h2>From a terminal</h2>
<p>The answer holds <code>read_url</code>, an RSS feed for everybody else.</p>`;
  return page(site, {
    title: site.title,
    isListed: true,
    main: html`<h1>Write notes, share a feed</h1>
${isDeleted && html`<p class="done" role="status">The feed is deleted.</p>`}
<p class="lead">Post short notes and pictures to a feed of your own; others read them here or in their feed reader. The name of
 the feed is the key to write to it, so choose one that nobody guesses.</p>
${notice && html`<section class="operator-notice" aria-label="Notice">${notice}</section>`}
<form method="post" action="${site.root}/" class="open-feed">
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
${script(site, 'start')}`,
  });
}

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
