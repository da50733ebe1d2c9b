import { secretMatcher } from '../signed.ts';
import { type HookKind, keyOf, tagsOf } from './hook.ts';
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

/** Webhooks of GitLab (https://docs.gitlab.com/user/project/integrations/webhook_events/). */
export const gitlab: HookKind = {
  // `X-Gitlab-Token`: the secret itself.
  knowsSecret: (secret, _body, header) => {
    const sent = header('x-gitlab-token');
    return sent === undefined ? undefined : secretMatcher(secret)(sent);
  },
  answer: 'id',
  notes: (payload) => {
    const event = new Members(payload);
    const found = EVENTS.get(event.needed('object_kind'))?.(event);
    if (found === undefined) return [];
    const { about, ...note } = found;
    return [{ ...note, tags: tagsOf('gitlab', ...about) }];
  },
};

/** The events that people watch. */
const EVENTS: ReadonlyMap<string, ReadEvent> = new Map([
  ['push', push],
  ['tag_push', push],
  ['merge_request', mergeRequest],
  ['issue', issue],
  ['release', release],
  ['pipeline', pipeline],
]);

/** The id that stands for no commit: before a branch is made, and after it is deleted. */
const NO_COMMIT = /^0+$/;

function push(payload: Members): ReturnType<ReadEvent> {
  const commits = payload.list('commits');
  const repository = repositoryOf(payload);
  const before = payload.text('before');
  const after = payload.text('after');
  const isNew = NO_COMMIT.test(before);
  const markdown = pushMarkdown({
    who: payload.text('user_name'),
    repository,
    ref: payload.needed('ref'),
    isNew,
    isDeleted: NO_COMMIT.test(after),
    isForced: false,
    commits: commits.map((commit) => ({
      id: commit.text('id'),
      message: commit.text('title') || commit.text('message'),
      url: commit.text('url'),
      author: commit.object('author').text('name'),
    })),
    total: Math.max(payload.number('total_commits_count') ?? 0, commits.length),
    url: isNew ? '' : `${repository.url}/-/compare/${encodeURIComponent(`${before}...${after}`)}`,
  });
  return { markdown, about: ['push'] };
}

/** GitLab's words for what was done, in the words of notes. */
const DONE: ReadonlyMap<string, string> = new Map([
  ['open', 'opened'],
  ['close', 'closed'],
  ['reopen', 'reopened'],
  ['merge', 'merged'],
]);

function mergeRequest(payload: Members): ReturnType<ReadEvent> {
  return readAction(payload, '!', 'merge request', 'merge-request');
}

function issue(payload: Members): ReturnType<ReadEvent> {
  // Readers of the feed may not be allowed to read a confidential issue. One of the two signs is enough, because GitLab may leave out the other.
  const isConfidential = payload.object('object_attributes').is('confidential');
  if (isConfidential || payload.text('event_type') === 'confidential_issue') return undefined;
  return readAction(payload, '#', 'issue', 'issue');
}

function readAction(payload: Members, sign: string, what: string, tag: string): ReturnType<ReadEvent> {
  const about = payload.object('object_attributes');
  const done = DONE.get(about.text('action'));
  if (done === undefined) return undefined;
  const target = about.text('target_branch');
  const markdown = actionMarkdown({
    who: payload.object('user').text('name'),
    repository: repositoryOf(payload),
    what: `${done} ${what}`,
    title: `${sign}${about.needed('iid')} ${about.needed('title')}`,
    url: about.text('url'),
    where: target === '' ? '' : ` into ${asCode(target)}`,
    description: done === 'opened' ? about.text('description') : '',
  });
  return { markdown, about: [tag, done] };
}

function release(payload: Members): ReturnType<ReadEvent> {
  if (payload.needed('action') !== 'create') return undefined;
  const markdown = actionMarkdown({
    who: payload.object('commit').object('author').text('name'),
    repository: repositoryOf(payload),
    what: 'published release',
    title: payload.text('name') || payload.needed('tag'),
    url: payload.text('url'),
    description: payload.text('description'),
  });
  return { markdown, about: ['release'] };
}

const ENDED = ['success', 'failed', 'canceled'];

function pipeline(payload: Members): ReturnType<ReadEvent> {
  const about = payload.object('object_attributes');
  const status = about.needed('status');
  if (!ENDED.includes(status)) return undefined;
  const repository = repositoryOf(payload);
  const id = about.needed('id');
  const commit = payload.object('commit');
  const outcome = outcomeOf(status);
  const markdown = runMarkdown({
    repository,
    name: about.text('name') || `Pipeline #${id}`,
    url: about.text('url') || `${repository.url}/-/pipelines/${encodeURIComponent(id)}`,
    outcome,
    branch: about.text('ref'),
    commit: { id: about.text('sha'), message: commit.text('title') || commit.text('message') },
    who: payload.object('user').text('name'),
  });
  return { markdown, key: keyOf('gitlab', 'pipeline', repository.name, id), about: ['pipeline', outcome] };
}

function repositoryOf(payload: Members): Repository {
  const project = payload.object('project');
  return { name: project.needed('path_with_namespace'), url: project.text('web_url') };
}
