import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { RenderingPools } from '../../src/read/lanes.ts';
import { LegalTexts } from '../../src/read/legal-texts.ts';
import { unrendered } from '../../src/read/note-html.ts';
import { Renderer } from '../../src/read/renderer.ts';
import { Refusal } from '../../src/refusals.ts';
import type { WorkerPool } from '../../src/worker-pool.ts';
import { tempDir } from '../support/service.ts';

t.test('a text whose thread died is rendered at the next request, and then kept', async (t) => {
  t.capture(process, 'emitWarning');
  let tasks = 0;
  const pool = {
    run: async () => {
      tasks += 1;
      if (tasks === 1) throw new Error('The thread died.');
      return { rendered: [{ title: '', html: '<p>rendered</p>', htmlLength: 0, excerpt: '', pictures: [] }] };
    },
  } as unknown as WorkerPool;
  const pools: RenderingPools = { parsing: pool, slowParsing: pool, slowestParsing: pool };
  const imprint = join(await tempDir(t), 'imprint.md');
  // Longer than what is rendered on the event loop.
  await writeFile(imprint, 'a'.padEnd(400, ' a'));
  const texts = new LegalTexts({ imprint }, new Renderer(pools, 100_000));
  const shown = async () => String(await texts.html('imprint', 1, 'https://x.example'));
  t.match(await shown(), /^<pre [^>]*>a a/);
  t.equal(await shown(), '<p>rendered</p>');
  t.equal(await shown(), '<p>rendered</p>');
  t.equal(tasks, 2);
});

t.test('a text that cannot be shown now is tried again at the next request', async (t) => {
  let isBusy = true;
  const text = async (content: Uint8Array) => {
    if (isBusy) throw new Refusal('busy', 'Too much waits.');
    return unrendered(content);
  };
  const imprint = join(await tempDir(t), 'imprint.md');
  await writeFile(imprint, 'Ann');
  const texts = new LegalTexts({ imprint }, { text });
  const shown = async () => String(await texts.html('imprint', 1, 'https://x.example'));
  await t.rejects(shown(), { code: 'busy' });
  isBusy = false;
  t.match(await shown(), 'Ann');
});
