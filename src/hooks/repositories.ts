/** What notes of GitHub and GitLab have in common. */
import { cutAt } from '../feeds/text.ts';
import type { HookNote } from './hook.ts';
import { asCode, asParagraphs, asText, blocks, cutText, linked, list, strong } from './markdown.ts';
import type { Members } from './members.ts';

/** Characters of a commit's id that people read. */
const SHORT_ID = 7;
/** Characters of a description; its page has the rest. */
const DESCRIPTION_LENGTH = 1_500;

/** The note of an event, with what its tags say beside the kind; undefined if nobody watches it. */
export type ReadEvent = (
  payload: Members,
) => (Omit<HookNote, 'tags'> & { readonly about: readonly string[] }) | undefined;

export interface Repository {
  readonly name: string;
  readonly url: string;
}

interface Commit {
  readonly id: string;
  readonly message: string;
  readonly url: string;
  readonly author: string;
}

interface Push {
  readonly who: string;
  readonly repository: Repository;
  /** `refs/heads/…` or `refs/tags/…`. */
  readonly ref: string;
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  readonly isForced: boolean;
  readonly commits: readonly Commit[];
  /** How many commits were pushed, if not all are named. */
  readonly total: number;
  /** The address of the changes. */
  readonly url: string;
}

/** For example `**Ann** pushed [2 commits](…) to main of [acme/shop](…)`, and a list of the commits. */
export function pushMarkdown(push: Push): string {
  const { who, repository, ref, isNew, isDeleted, isForced, commits, total, url } = push;
  const isTag = ref.startsWith('refs/tags/');
  const what = `the ${isTag ? 'tag' : 'branch'} ${asCode(ref.replace(/^refs\/(?:heads|tags)\//, ''))}`;
  const place = `of ${repositoryLink(repository)}`;
  const by = strong(who) || 'Somebody';
  if (isDeleted) return `${by} deleted ${what} ${place}`;
  if (isTag || total === 0) return `${by} ${isNew ? 'made' : 'moved'} ${what} ${place}`;
  const count = linked(`${total} ${total === 1 ? 'commit' : 'commits'}`, url);
  const how = isForced ? 'force-pushed' : 'pushed';
  return blocks(`${by} ${how} ${count} to ${what} ${place}`, list(commits.map(commitLine), total));
}

function commitLine({ id, message, url, author }: Commit): string {
  return `${linked(asCode(cutAt(id, SHORT_ID)), url)} ${subjectOf(message)}${signature(author)}`;
}

/** The first line of a commit's message. */
function subjectOf(message: string): string {
  const [subject = ''] = message.trim().split('\n', 1);
  return asText(subject);
}

function signature(who: string): string {
  return who === '' ? '' : ` — ${asText(who)}`;
}

interface RepositoryAction {
  readonly who: string;
  readonly repository: Repository;
  /** For example `closed issue`. */
  readonly what: string;
  /** For example `#42 The cart is empty`. */
  readonly title: string;
  readonly url: string;
  /** Markdown behind the title, for example ` into main`. */
  readonly where?: string | undefined;
  readonly description?: string | undefined;
}

/** For example `**ann** closed issue [#42 The cart is empty](…) in [acme/shop](…)`. */
export function actionMarkdown(action: RepositoryAction): string {
  const { who, repository, what, title, url, where = '', description = '' } = action;
  const thing = linked(asText(title), url);
  return blocks(
    `${strong(who) || 'Somebody'} ${what} ${thing}${where} in ${repositoryLink(repository)}`,
    asParagraphs(cutText(description.trim(), DESCRIPTION_LENGTH)),
  );
}

interface Run {
  readonly repository: Repository;
  readonly name: string;
  readonly url: string;
  readonly outcome: string;
  readonly branch: string;
  readonly commit: { readonly id: string; readonly message: string };
  readonly who: string;
}

/** For example `**CI** [#7](…): failure on main of [acme/shop](…)`. */
export function runMarkdown({ repository, name, url, outcome, branch, commit, who }: Run): string {
  const change = `${asCode(cutAt(commit.id, SHORT_ID))} ${subjectOf(commit.message)}`.trim();
  return blocks(
    `${linked(strong(name), url)}: ${asText(outcome)} on ${asCode(branch)} of ${repositoryLink(repository)}`,
    change === '' ? '' : change + signature(who),
  );
}

function repositoryLink({ name, url }: Repository): string {
  return linked(asText(name), url);
}

/** The outcome in the words of notes: GitHub and GitLab have different words for the same outcome. */
export function outcomeOf(text: string): string {
  return OUTCOMES.get(text) ?? text.replaceAll('_', ' ');
}

const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ['failed', 'failure'],
  ['canceled', 'cancelled'],
]);
