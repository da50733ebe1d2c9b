import type { Json } from '../../schemas.ts';
import { type Environment, setting } from '../../setting.ts';
import { secretText } from '../../setting-kinds.ts';
import { type Options, Progress, WrongArguments } from '../command.ts';
import type { Action } from './action.ts';
import { OperatedService } from './operated-service.ts';
import { show } from './output.ts';
import { settingOf } from './setting-of.ts';

/** The words after `images`: what to do to the image store. */
export const IMAGE_WORDS: ReadonlySet<string> = new Set(['unreferenced', 'clean', 'move']);

/** Actions on the image store. */
export const IMAGE_ACTIONS = {
  images: {
    takesArgument: true,
    options: ['from', 'dir', 'endpoint', 'bucket', 'region', 'limit'],
    async run(word, options, env) {
      if (!IMAGE_WORDS.has(word) || (word !== 'move' && Object.keys(options).length > 0))
        throw new WrongArguments();
      return word === 'move' ? move(options, env) : compare(word === 'clean' ? 'DELETE' : 'GET', env);
    },
  },
} satisfies Record<string, Action>;

async function compare(method: 'GET' | 'DELETE', env: Environment): Promise<number> {
  const result = await new OperatedService(env).ask<'Unreferenced'>(method, '/images/unreferenced');
  show(result, summary);
  return (result.failed ?? 0) + result.missing > 0 ? 1 : 0;
}

function summary({
  store,
  unreferenced,
  deleted,
  failed,
  too_recent,
  missing,
}: Json<'Unreferenced'>): string {
  return [
    `Store: ${store}`,
    `Referred to by no note, and older than an hour: ${unreferenced.count} (${unreferenced.bytes} bytes)`,
    ...(deleted ? [`Removed: ${deleted.count} (${deleted.bytes} bytes)`, `Not removed: ${failed}`] : []),
    `Younger, and left alone: ${too_recent}`,
    `Pictures whose object is missing: ${missing}`,
  ].join('\n');
}

async function move({ limit, ...from }: Options, env: Environment): Promise<number> {
  if (from.from === undefined || (limit !== undefined && !/^\d{1,5}$/.test(limit)))
    throw new WrongArguments();
  const service = new OperatedService(env);
  const keys =
    from.from === 's3'
      ? {
          access_key: settingOf(env, setting('MOVE_S3_ACCESS_KEY', secretText([1, 256]))),
          secret_key: settingOf(env, setting('MOVE_S3_SECRET_KEY', secretText([1, 1024]))),
        }
      : {};
  const body = { ...from, ...keys, ...(limit !== undefined && { limit: Number(limit) }) };
  const progress = new Progress(process.stderr);
  const sum = { moved: { count: 0, bytes: 0 }, skipped: 0, missing: 0, failed: 0 };
  for (let after: string | null = ''; after !== null; ) {
    const page: Json<'MovedImages'> = await service.ask<'MovedImages'>('POST', '/images/move', {
      ...body,
      after,
    });
    sum.moved.count += page.moved.count;
    sum.moved.bytes += page.moved.bytes;
    for (const member of ['skipped', 'missing', 'failed'] as const) sum[member] += page[member];
    after = page.next;
    progress.step(() => `${movedText(sum.moved)}, ${page.left} still to look at.`);
  }
  progress.end();
  show(
    sum,
    ({ moved, skipped, missing, failed }) =>
      `${movedText(moved)}. There already or changed meanwhile: ${skipped}. In neither place: ${missing}. ` +
      `Refused by a store, to be moved by another run: ${failed}.`,
  );
  return sum.failed + sum.missing > 0 ? 1 : 0;
}

function movedText({ count, bytes }: { readonly count: number; readonly bytes: number }): string {
  return `Moved ${count} pictures (${bytes} bytes)`;
}
