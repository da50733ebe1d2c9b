/** Removing notes that are due, of one feed after the other. */
import t from 'tap';
import { Sweeping } from '../../src/ingest/sweeping.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { feedName, newNote } from '../storage/contract.ts';
import { dataFolder, opened } from '../storage/files-support.ts';
import { eventually } from '../support/eventually.ts';
import { post } from '../support/storing.ts';

t.test('a feed whose notes cannot be removed does not keep those of the others', async (t) => {
  const storage = await opened(t, await dataFolder(t));
  const [broken, whole] = [feedName('broken'), feedName('whole')];
  for (const name of [broken, whole])
    for (let n = 0; n < 20; n += 1)
      await post(storage, name, { ...newNote('due'), meta: { tags: [], expires: Date.now() } });
  let attempts = 0;
  // As in a folder that somebody else has put there, and in which this user may not remove anything.
  const write: Storage['write'] = async (command) => {
    if (command.name !== broken) return storage.write(command);
    attempts += 1;
    throw new Error('EACCES');
  };
  const swept = new Proxy(storage, {
    get: (target, member: keyof Storage) => {
      const value = member === 'write' ? write : target[member];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const lines: unknown[] = [];
  const sweeping = new Sweeping(swept, { warn: (_, fields) => lines.push(fields) }, 60_000);
  t.teardown(() => sweeping.stop());
  t.ok(await eventually(async () => (await storage.feed(whole))?.noteCount === 0));
  t.ok(await eventually(() => lines.length > 0));
  t.equal(attempts, 1, 'it is tried again at the next time only');
  t.match(lines, [{ feed: broken, err: new Error('EACCES') }]);
});

t.test('a stop ends a round after the write that runs', async (t) => {
  const names = ['one', 'two', 'three'];
  let stopped: Promise<void> | undefined;
  const swept: string[] = [];
  const write = async ({ name }: { name: string }) => {
    swept.push(name);
    stopped = sweeping.stop();
    return { isUnchanged: false };
  };
  const storage = { due: async () => names.splice(0), feed: async (name: string) => ({ name }), write };
  const sweeping = new Sweeping(storage as unknown as Storage, { warn: () => {} }, 60_000);
  t.ok(await eventually(() => stopped !== undefined));
  await stopped;
  t.same(swept, ['one']);
});
