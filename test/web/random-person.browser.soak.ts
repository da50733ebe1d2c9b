/**
 * A simulated person uses the pages in Chromium at random, in up to two windows: writes, edits, deletes, reloads, closes. Meanwhile
 * requests are cut off, and somebody else changes the notes. In the end each word must be in exactly one note. `PERSONS=100` runs 100
 * persons, and `PERSON_SEED` decides what they do.
 */
import { randomInt } from 'node:crypto';
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
import { BLOCK_STORAGE } from '../support/browser-storage.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { FeedClient } from '../support/feed-client.ts';
import { RandomPerson } from '../support/person/random-person.ts';
import { Random } from '../support/random.ts';
import { start } from '../support/service.ts';

const { PERSONS = '4', PERSON_SEED = `${randomInt(2 ** 31)}` } = process.env;
/** How much each person does. */
const STEPS = 40;
/** The longest wait for an element of a page, ms. */
const PATIENCE_MS = 15_000;

t.setTimeout(Number(PERSONS) * 600_000 + 300_000);
t.comment(`PERSON_SEED=${PERSON_SEED}`);

const browser = await startBrowser(t);
const service = await start(t);

for (let number = 0; number < Number(PERSONS); number += 1)
  await t.test(`person ${number}`, async (t) => {
    const random = new Random(Number(PERSON_SEED) + number);
    const proxy = await CutProxy.start(t, service.port);
    const isMade = !random.oneIn(4);
    const password = isMade && random.oneIn(3) ? 'the first password' : undefined;
    const headers = password === undefined ? {} : { 'x-feed-password': password };
    const feed = new FeedClient(service.url, `person-${PERSON_SEED}-${number}`, headers);
    if (isMade) await feed.post('The first note');
    const { page, errors, violations } = await visit(t, browser, {
      says: 'yes',
      serviceWorkers: random.oneIn(2) ? 'allow' : 'block',
    });
    const context = page.context();
    context.setDefaultTimeout(PATIENCE_MS);
    context.on('page', (opened) => opened.on('dialog', (dialog) => void dialog.accept().catch(() => {})));
    context.on('weberror', (failed) => errors.push(String(failed.error())));
    await page.close();
    const hasStorage = !random.oneIn(8);
    if (!hasStorage) await context.addInitScript(BLOCK_STORAGE);
    const person = new RandomPerson(random, context, proxy, feed, password, hasStorage);
    try {
      for (let step = 0; step < STEPS; step += 1) await person.act();
      await person.finish();
      t.same(await person.problems(), []);
    } catch (error) {
      t.error(error);
    }
    t.same([errors, violations], [[], []]);
    if (!t.passing()) t.comment(['what the person did:', ...person.diary.did].join('\n'));
  });
