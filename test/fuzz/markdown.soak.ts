/**
 * Renders texts of every kind by the code of the service: on the event loop if it lets them, and all of them by the lanes of
 * threads. None may hold the loop or fail, both ways must give the same, and Chromium must find nothing active in the HTML.
 * `TEXTS=10000000` renders so many, `BROWSER_EVERY=10` shows Chromium only one in ten, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Page as BrowserPage } from 'playwright-core';
import t from 'tap';
import type { RenderingPools } from '../../src/read/lanes.ts';
import { placedHtml } from '../../src/read/note-text.ts';
import { Renderer } from '../../src/read/renderer.ts';
import { WorkerPool } from '../../src/worker-pool.ts';
import { startBrowser, visit } from '../support/browser.ts';
import { loopWork, MAX_LOOP_MS } from '../support/fuzz/loop-time.ts';
import { noteTextMaker } from '../support/fuzz/note-texts.ts';
import { type AskedHtml, browserViolations } from '../support/html-in-browser.ts';
import { FEED, PAGE } from '../support/strict-html.ts';
import { READ_ID, unrenderedNote } from '../support/view-notes.ts';

const TEXTS = Number(process.env.TEXTS ?? 15_000);
const BROWSER_EVERY = Number(process.env.BROWSER_EVERY ?? 1);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
/** Texts that are rendered together. */
const BATCH = 100;
/** The number of batches that run at the same time, so that this thread, the rendering threads and the browser are all busy. */
const AT_ONCE = 4;
const REPORT_EVERY_MS = 60_000;
const MAX_QUEUE = 100;
/** The largest HTML that is shown to the browser, characters; wide tables become much more. */
const MAX_SHOWN = 1024 * 1024;
const BASE = 'https://notes.example/r/abc/';
/** As the strict reader of pages expects it. */
const IN_PAGE = { level: 2, sizes: new Map(), id: 'the-note' };
/** Not flat, so what stands with it is rendered by threads. */
const QUOTE = Buffer.from('> quote');

t.setTimeout((300 + TEXTS / 100) * 1000);

const browser = await startBrowser(t);

/** What came of the texts so far. */
const counts = { texts: 0, atOnce: 0, asText: 0, inBrowser: 0, tooLong: 0 };
let slowest = { ms: 0, text: '' };
const startedAt = performance.now();

function report(): string {
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = Math.round(counts.texts / seconds);
  return (
    `seed ${SEED}: ${counts.texts} texts in ${seconds.toFixed(0)} s (${rate}/s), ${counts.atOnce} of them on the event loop, ` +
    `the slowest in ${slowest.ms.toFixed(2)} ms: ${slowest.text}; ${counts.asText} were shown as text because they or others were too slow; ` +
    `HTML of ${counts.inBrowser} in Chromium, ${counts.tooLong} were too long for it`
  );
}

t.test('no text holds the loop, breaks its rendering or becomes active', async (t) => {
  const { page } = await visit(t, browser);
  const pools: RenderingPools = { parsing: pool(), slowParsing: pool(), slowestParsing: pool() };
  t.teardown(() => Promise.all(Object.values(pools).map((one) => one.drain(0))));
  // Nothing is kept, so that every text is rendered.
  const renderer = new Renderer(pools, 0);
  const next = noteTextMaker(SEED);
  let made = 0;
  let reportedAt = startedAt;
  const lane = async (key: string) => {
    while (made < TEXTS) {
      const texts = Array.from({ length: Math.min(BATCH, TEXTS - made) }, next);
      made += texts.length;
      await check(renderer, page, key, texts);
      if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
      reportedAt = performance.now();
      t.comment(report());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => lane(`${READ_ID}${n}`)));
  t.comment(report());
  t.ok(counts.atOnce > 0 && counts.inBrowser > 0);
});

function pool(): WorkerPool {
  return new WorkerPool({ threads: 1, maxQueue: MAX_QUEUE });
}

/** Throws at the first text with which something is wrong. */
async function check(
  renderer: Renderer,
  page: BrowserPage,
  key: string,
  texts: readonly Buffer[],
): Promise<void> {
  const work = texts.map(loopWork);
  for (const [n, { ms }] of work.entries()) {
    if (ms > slowest.ms) slowest = { ms, text: shown(texts[n]!) };
    if (ms > MAX_LOOP_MS) throw new Error(`${ms.toFixed(1)} ms on the event loop: ${shown(texts[n]!)}`);
  }
  const notes = [QUOTE, ...texts].map((content) => ({
    ...unrenderedNote(''),
    content: new Uint8Array(content),
  }));
  const { notes: all, isComplete } = await renderer.texts(notes, key as typeof READ_ID);
  const asked: AskedHtml[] = [];
  for (const [n, { rendered }] of all.slice(1).entries()) {
    const text = texts[n]!;
    if (rendered === undefined) throw new Error(`not rendered: ${shown(text)}`);
    const isText = /^<pre>(?!<code)/.test(placedHtml(rendered, BASE));
    if (isText) counts.asText += 1;
    const atOnce = work[n]!.rendered;
    if (atOnce !== undefined) counts.atOnce += 1;
    // Others of its feed can be so slow that it is left for a later request.
    const isLeft = isText && !isComplete;
    if (atOnce !== undefined && !isLeft && !isDeepStrictEqual(atOnce, rendered))
      throw new Error(`a thread renders it otherwise than the event loop: ${shown(text)}`);
    counts.texts += 1;
    if (counts.texts % BROWSER_EVERY !== 0) continue;
    const htmls = [
      { html: placedHtml(rendered, BASE), allowed: FEED },
      { html: placedHtml(rendered, BASE, IN_PAGE), allowed: PAGE },
    ];
    const isLong = htmls.some(({ html }) => html.length > MAX_SHOWN);
    counts[isLong ? 'tooLong' : 'inBrowser'] += 1;
    if (!isLong) asked.push(...htmls);
  }
  for (const { html, found } of await browserViolations(page, asked))
    throw new Error(`${found.join('; ')} in ${html.slice(0, 2_000)}`);
}

/** As text if it is one, else its bytes. */
function shown(text: Buffer): string {
  const isText = Buffer.from(text.toString()).equals(text);
  return (isText ? JSON.stringify(text.toString()) : `base64 ${text.toString('base64')}`).slice(0, 3_000);
}
