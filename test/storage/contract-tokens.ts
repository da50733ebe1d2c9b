import t from 'tap';
import type { Storage } from '../../src/storage/storage.ts';
import type { Backend } from './contract.ts';

const LATER = Date.now() + 3_600_000;

/** What every backend must do with tokens that work once. */
export function testTokens(backend: Backend): void {
  t.test(`${backend.name}: tokens of a series work in their order, each once`, async (t) => {
    const place = await backend.create(t, 0, 0);
    const storage = await place.open();
    for (const turn of [0, 1, 2]) t.equal(await storage.useToken('a', turn, LATER), true);
    t.equal(await storage.useToken('b', 0, LATER), true, 'series know nothing of each other');
    t.equal(await storage.useToken('a', 1, LATER), false, 'used before');
    for (const turn of [1, 2, 3, 4, 0])
      t.equal(await storage.useToken('a', turn, LATER), false, 'and that was the end of the series');
    t.equal(await storage.useToken('b', 1, LATER), true);
    t.equal(await storage.useToken('unknown', 1, LATER), false);
    t.equal(await storage.useToken('unknown', 0, LATER), false, 'ended by that');
    await storage.close();

    const again: Storage = await place.open();
    t.equal(await again.useToken('a', 3, LATER), false);
    t.equal(await again.useToken('b', 2, LATER), true, 'a restart forgets nothing');
    t.equal(await again.useToken('b', 2, LATER), false);
    await again.close();
  });

  t.test(`${backend.name}: of many who use one token at once one succeeds`, async (t) => {
    const storage = await (await backend.create(t, 0, 0)).open();
    const used = await Promise.all(Array.from({ length: 20 }, () => storage.useToken('a', 0, LATER)));
    t.equal(used.filter(Boolean).length, 1);
    t.equal(await storage.useToken('a', 1, LATER), false, 'the others have ended it');
    await storage.close();
  });

  t.test(`${backend.name}: what is over is forgotten`, async (t) => {
    const storage = await (await backend.create(t, 0, 0)).open();
    t.equal(await storage.useToken('short', 0, Date.now() - 1), true);
    t.equal(await storage.useToken('other', 0, LATER), true);
    // As for a series that nobody knows: with a token that is over nobody comes here.
    t.equal(await storage.useToken('short', 0, LATER), true);
    await storage.close();
  });
}
