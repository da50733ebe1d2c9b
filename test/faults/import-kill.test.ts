/** An import that is killed is completed by a second one, with nothing twice and nothing half. */
import t from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { ask } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { zipOf } from '../support/zips.ts';

const NOTES = 1_500;
const KILLS = 3;

const ids = new NoteIds();
const ZIP = zipOf([
  { name: '.feed.json', bytes: '{"title":"Whole"}' },
  ...Array.from({ length: NOTES }, (_, n) => {
    const id = ids.next();
    const bytes = n % 100 === 0 ? picture('png', 5_000, n) : `note ${n}`;
    const name = `${id}.${n % 100 === 0 ? 'png' : 'md'}`;
    return [
      { name, bytes },
      { name: `.${name}.json`, bytes: `{"tags":["t${n}"]}` },
    ];
  }).flat(),
]);

async function sent(service: ServiceProcess) {
  const url = `${service.url}/api/v1/feeds/marten/import`;
  return ask(url, { method: 'POST', headers: { 'content-type': 'application/zip' }, body: ZIP });
}

/** Of the whole feed, page by page. */
async function titlesOf(client: FeedClient): Promise<string[]> {
  const found: string[] = [];
  let query = '?limit=100';
  for (;;) {
    const { notes, next } = (await client.list(query)).json;
    for (const { file, tags } of notes) found.push(`${file} ${tags}`);
    if (next === null) return found;
    query = `?limit=100&before=${next}`;
  }
}

t.test('killed in the middle, a second import completes it', async (t) => {
  let service = await ServiceProcess.start(t);
  const { dir } = service;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const client = new FeedClient(service.url, 'marten');
    const before = (await client.list()).json.notes[0]?.file;
    const answer = sent(service).catch(() => undefined);
    t.ok(await eventually(async () => (await client.list('?limit=1')).json.notes[0]?.file !== before));
    await service.kill('SIGKILL');
    t.equal(await answer, undefined, 'it had not ended');
    service = await ServiceProcess.start(t, { dir });
  }
  const { json } = await sent(service);
  t.equal(json.imported + json.skipped, NOTES);
  t.ok(json.skipped > 0 && json.imported > 0, `${json.skipped} were stored before`);
  t.match((await sent(service)).json, { imported: 0, skipped: NOTES, refused_count: 0 });
  const client = new FeedClient(service.url, 'marten');
  t.equal((await client.get()).json.title, 'Whole');
  const found = await titlesOf(client);
  t.equal(new Set(found).size, NOTES);
  t.ok(
    found.every((one) => / t\d+$/.test(one)),
    'each has its metadata',
  );
});
