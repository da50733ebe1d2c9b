import { createHmac } from 'node:crypto';
import { Refusal } from '../refusals.ts';
import { secretMatcher } from '../signed.ts';
import { type HeaderOf, type HookKind, keyOf, tagsOf } from './hook.ts';
import { asCode } from './markdown.ts';
import { Members } from './members.ts';
import {
  actionMarkdown,
  outcomeOf,
  pushMarkdown,
  type ReadEvent,
  type Repository,
  runMarkdown,
} from './repositories.ts';

/** Webhooks of GitHub (https://docs.github.com/en/webhooks/webhook-events-and-payloads). */
export const github: HookKind = {
  takesForm: true,
  headers: ['x-github-event', 'x-github-delivery'],
  // `X-Hub-Signature-256`: `sha256=` and the hexadecimal HMAC of the body.
  knowsSecret: (secret, body, header) => {
    const sent = header('x-hub-signature-256');
    if (sent === undefined) return undefined;
    return secretMatcher(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)(sent);
  },
  answer: 'id',
  notes: (payload, header) => {
    const event = header('x-github-event');
    if (event === undefined) throw new Refusal('invalid_request', 'The header X-GitHub-Event is missing.');
    const found = EVENTS.get(event)?.(new Members(payload));
    if (found === undefined) return [];
    const { about, markdown, key = deliveryKey(header) } = found;
    return [{ markdown, key, tags: tagsOf('github', ...about) }];
  },
};

/** The events that people watch. */
const EVENTS: ReadonlyMap<string, ReadEvent> = new Map([
  ['push', push],
  ['pull_request', pullRequest],
  ['issues', issue],
  ['release', release],
  ['workflow_run', workflowRun],
]);

function push(payload: Members): ReturnType<ReadEvent> {
  const commits = payload.list('commits');
  const markdown = pushMarkdown({
    who: payload.object('sender').text('login') || payload.object('pusher').text('name'),
    repository: repositoryOf(payload),
    ref: payload.needed('ref'),
    isNew: payload.is('created'),
    isDeleted: payload.is('deleted'),
    isForced: payload.is('forced'),
    commits: commits.map((commit) => ({
      id: commit.text('id'),
      message: commit.text('message'),
      url: commit.text('url'),
      author: commit.object('author').text('name'),
    })),
    total: commits.length,
    url: payload.text('compare'),
  });
  return { markdown, about: ['push'] };
}

/** What becomes of pull requests and issues, as far as people watch it. */
const ACTIONS = ['opened', 'closed', 'reopened'];

function pullRequest(payload: Members): ReturnType<ReadEvent> {
  const action = payload.needed('action');
  if (!ACTIONS.includes(action)) return undefined;
  const request = payload.object('pull_request');
  const done = action === 'closed' && request.is('merged') ? 'merged' : action;
  const markdown = actionMarkdown({
    who: senderOf(payload),
    repository: repositoryOf(payload),
    what: `${done} pull request`,
    title: `#${request.needed('number')} ${request.needed('title')}`,
    url: request.text('html_url'),
    where: ` into ${asCode(request.object('base').text('ref'))}`,
    description: done === 'opened' ? request.text('body') : '',
  });
  return { markdown, about: ['pull-request', done] };
}

function issue(payload: Members): ReturnType<ReadEvent> {
  const action = payload.needed('action');
  if (!ACTIONS.includes(action)) return undefined;
  const about = payload.object('issue');
  const markdown = actionMarkdown({
    who: senderOf(payload),
    repository: repositoryOf(payload),
    what: `${action} issue`,
    title: `#${about.needed('number')} ${about.needed('title')}`,
    url: about.text('html_url'),
    description: action === 'opened' ? about.text('body') : '',
  });
  return { markdown, about: ['issue', action] };
}

function release(payload: Members): ReturnType<ReadEvent> {
  if (payload.needed('action') !== 'published') return undefined;
  const about = payload.object('release');
  const tag = about.needed('tag_name');
  const markdown = actionMarkdown({
    who: senderOf(payload),
    repository: repositoryOf(payload),
    what: about.is('prerelease') ? 'published pre-release' : 'published release',
    title: about.text('name') || tag,
    url: about.text('html_url'),
    description: about.text('body'),
  });
  return { markdown, about: ['release', about.is('prerelease') ? 'prerelease' : ''] };
}

/** A run that is repeated keeps its id, so its note tells how it ended at last. */
function workflowRun(payload: Members): ReturnType<ReadEvent> {
  const run = payload.object('workflow_run');
  const outcome = outcomeOf(run.text('conclusion'));
  if (payload.needed('action') !== 'completed' || outcome === 'skipped') return undefined;
  const commit = run.object('head_commit');
  const repository = repositoryOf(payload);
  const id = run.needed('id');
  const markdown = runMarkdown({
    repository,
    name: `${run.needed('name')} #${run.text('run_number')}`,
    url: run.text('html_url'),
    outcome,
    branch: run.text('head_branch'),
    commit: { id: run.text('head_sha'), message: commit.text('message') },
    who: run.object('actor').text('login'),
  });
  return { markdown, key: keyOf('github', 'run', repository.name, id), about: ['workflow', outcome] };
}

/** One delivery has one note, also if it is sent again. */
function deliveryKey(header: HeaderOf): string | undefined {
  const id = header('x-github-delivery');
  return id && keyOf('github', 'delivery', id);
}

function senderOf(payload: Members): string {
  return payload.object('sender').text('login');
}

function repositoryOf(payload: Members): Repository {
  const repository = payload.object('repository');
  return { name: repository.needed('full_name'), url: repository.text('html_url') };
}
