import Database from 'better-sqlite3';
import { inspectFolder } from '../../../src/storage/files/inspect.ts';
import { eventually } from '../eventually.ts';
import { leftovers } from '../leftovers.ts';
import { operate } from '../operator.ts';
import { ask } from '../service.ts';
import { EXPIRING } from './expiring.ts';
import type { Services } from './services.ts';
import { Broken, type Load, listed, look, same, type WriteKind } from './write-kind.ts';

/** An operator's record of a feed. */
interface CountedFeed {
  readonly name: string;
  readonly read_id: string;
  readonly notes: number;
  readonly pictures: number;
  readonly bytes: number;
  readonly blocked: boolean;
}

/** What is not as these kinds of writes were promised. */
export async function brokenPromises(kinds: readonly WriteKind[]): Promise<string[]> {
  const broken: string[] = [];
  for (const kind of kinds) broken.push(...(await complaints(kind.name, () => kind.check())));
  return broken;
}

/** All that is wrong after a fault: with what was promised, with what is counted, and on the disk. */
export async function differences(
  services: Services,
  load: Load,
  kinds: readonly WriteKind[],
): Promise<string[]> {
  const broken = [
    ...(await brokenPromises(kinds)),
    ...(await complaints('counts', () => checkCounts(load))),
    ...(await complaints('disk', () => checkDisk(services))),
  ];
  // Whole folders are removed beside the work, because they may be large.
  if (broken.length === 0) await eventually(async () => (await leftovers(services.dir)).length === 0);
  for (const path of await leftovers(services.dir)) broken.push(`left unfinished: ${path}`);
  for (const line of services.errors) broken.push(`the log has an error: ${line}`);
  return broken;
}

/** Deletes all feeds, and looks for what is left. */
export async function deleteAll({ url }: Load): Promise<string[]> {
  return complaints('deletion of all', async () => {
    for (const { name } of await feedsAt(url))
      await look(() => operate(url, 'DELETE', `/feeds/${name}`), 204);
    const { json } = await look(() => operate(url, 'GET', '/stats'));
    same([json.feeds, json.notes, json.pictures, json.bytes], [0, 0, 0, 0], 'what is left');
  });
}

async function complaints(name: string, check: () => Promise<void>): Promise<string[]> {
  try {
    await check();
    return [];
  } catch (error) {
    return [`${name}: ${error instanceof Broken ? error.message : (error as Error).stack}`];
  }
}

async function feedsAt(url: string): Promise<CountedFeed[]> {
  return (await look(() => operate(url, 'GET', '/feeds?limit=1000'))).json.feeds;
}

/** Compares what is counted of feeds with what they have. */
async function checkCounts(load: Load): Promise<void> {
  const { url, feeds, prefix } = load;
  const all = await feedsAt(url);
  const unknown = all.filter(({ name }) => name.startsWith(prefix) && !feeds.has(name));
  same(unknown, [], 'the feeds that nobody has made');
  const differing = await differingCounts(url, all, prefix);
  // A sweep may have come between the count and the list.
  if (differing.length > 0)
    same(await differingCounts(url, await feedsAt(url), prefix), [], 'what is counted');
}

async function differingCounts(
  url: string,
  feeds: readonly CountedFeed[],
  prefix: string,
): Promise<string[]> {
  const differing: string[] = [];
  // Readers see nothing of a closed feed.
  for (const feed of feeds.filter(({ name, blocked }) => name !== prefix + EXPIRING && !blocked)) {
    const notes = await listed((query) => ask(`${url}/api/v1/read/${feed.read_id}/notes${query}`));
    const pictures = notes.filter(({ content }) => content === undefined).length;
    const bytes = notes.reduce((sum, { size }) => sum + size, 0);
    const counts = [feed.notes, feed.pictures, feed.bytes].join();
    const held = [notes.length, pictures, bytes].join();
    if (counts !== held)
      differing.push(`${counts} notes, pictures and bytes of ${feed.name}, which has ${held}`);
  }
  return differing;
}

/** What the API does not show: files that are no notes, pages of the database that are not right. */
async function checkDisk({ backend, dir }: Services): Promise<void> {
  if (backend === 'fs') {
    const { found } = await inspectFolder(dir, {});
    same(found, [], 'what the service does not take in its folder');
  }
  if (backend === 'sqlite') {
    const db = new Database(`${dir}/notefeed.db`, { readonly: true });
    const said = [db.pragma('integrity_check', { simple: true }), db.pragma('foreign_key_check')];
    db.close();
    same(said, ['ok', []], 'what the database says of itself');
  }
}
