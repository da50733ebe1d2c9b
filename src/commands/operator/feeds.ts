import type { Json } from '../../schemas.ts';
import { WrongArguments } from '../command.ts';
import type { Action } from './action.ts';
import { Input } from './input.ts';
import { OperatedService } from './operated-service.ts';
import { sayDone, shortTime, show, table } from './output.ts';

type Feed = Json<'OperatedFeeds'>['feeds'][number];

/** What the instance holds, and its feeds. */
export const FEED_ACTIONS = {
  stats: {
    async run(_, _options, env) {
      show(await new OperatedService(env).ask<'Stats'>('GET', '/stats'), statsTable);
    },
  },
  feeds: {
    options: ['sort', 'start', 'limit'],
    async run(_, { sort, start, limit }, env) {
      if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit)) throw new WrongArguments();
      const feeds = await new OperatedService(env).list(
        '/feeds',
        (page: Json<'OperatedFeeds'>) => page.feeds,
        {
          parameters: { sort, q: start },
          ...(limit !== undefined && { most: Number(limit) }),
        },
      );
      show({ feeds }, () => feedTable(feeds));
    },
  },
  delete: {
    takesArgument: true,
    async run(word, _, env) {
      const service = new OperatedService(env);
      await service.tell('DELETE', `/feeds/${await new Input().feedName(word)}`);
      sayDone('The feed is deleted.');
    },
  },
  password: {
    takesArgument: true,
    options: ['remove'],
    async run(word, { remove }, env) {
      const service = new OperatedService(env);
      const input = new Input();
      const path = `/feeds/${await input.feedName(word)}/password`;
      if (remove !== undefined) await service.tell('DELETE', path);
      else await service.tell('PUT', path, { password: await input.newPassword() });
      sayDone(
        remove === undefined
          ? 'The password is changed. Every browser that had unlocked the feed is locked out.'
          : 'The password is removed: whoever knows the name may read and write.',
      );
    },
  },
} satisfies Record<string, Action>;

function statsTable({ version, storage, images, feeds, notes, pictures, bytes }: Json<'Stats'>): string {
  const rows = { version, storage, images, feeds, notes, pictures, bytes };
  return Object.entries(rows)
    .map(([name, value]) => `${name.padEnd(10)}${value.toLocaleString('en')}`)
    .join('\n');
}

function feedTable(feeds: readonly Feed[]): string {
  return table(
    ['bytes', 'notes', 'pictures', 'changed (UTC)', 'name', 'read id', 'state', 'title'],
    feeds.map((feed) => [
      ...[feed.bytes, feed.notes, feed.pictures],
      ...[shortTime(feed.changed_at), feed.name, feed.read_id ?? '', stateOf(feed), feed.title],
    ]),
  );
}

function stateOf({ protected: isProtected, blocked, license }: Feed): string {
  const states = [
    isProtected && 'protected',
    blocked && 'blocked',
    license && `licensed to ${license.until}`,
  ];
  return states.filter(Boolean).join(', ');
}
