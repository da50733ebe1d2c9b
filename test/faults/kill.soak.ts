/** kill -9 under load, through the front door: what was acknowledged is there, and nothing is there by half. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { leftovers } from '../support/leftovers.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { type SentForm, SentForms } from '../support/sent-forms.ts';
import { type SentNote, SentNotes, shownOf } from '../support/sent-notes.ts';
import { ask } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

const ROUNDS = 50;
const MAX_MS = 60_000;
const CONNECTIONS = 6;

/** A post of a note that was answered with 201. */
interface Acknowledged {
  readonly note: Omit<SentNote, 'bytes'>;
  readonly id: string;
  readonly file: string;
  readonly readId: string;
}

/** A form that was answered with 201. */
interface AcknowledgedForm {
  readonly tag: string;
  readonly feed: string;
}

/** What was acknowledged before one kill. */
interface Made {
  readonly notes: Acknowledged[];
  readonly forms: AcknowledgedForm[];
}

const sent = new SentNotes();
const sentForms = new SentForms();
const feeds = new Set<string>();
const acknowledged: Made = { notes: [], forms: [] };
const refusals: string[] = [];

/** Feeds that exist, and feeds that several connections make at the same time. */
function someFeed(round: number): string {
  return randomInt(3) > 0 ? `old-${randomInt(3)}` : `new-${round}-${randomInt(4)}`;
}

function head({ feed, headers, bytes }: SentNote | SentForm): string {
  const lines = Object.entries({ host: 'test', ...headers, 'content-length': String(bytes.length) });
  return `POST /${feed} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Posts notes and forms one after the other until the connection breaks; calls `tell` for each that is acknowledged. */
async function postOn(connection: RawConnection, round: number, made: Made, tell: () => void) {
  for (;;) {
    const feed = someFeed(round);
    feeds.add(feed);
    const one = randomInt(3) === 0 ? sentForms.next(feed) : sent.next(feed);
    connection.send(head(one));
    connection.send(one.bytes);
    const { status, body } = await connection.response();
    if (status !== 201) {
      refusals.push(body.toString());
      continue;
    }
    if ('tag' in one) made.forms.push({ tag: one.tag, feed });
    else {
      const { bytes: _, ...note } = one;
      const { id, file, read_url } = JSON.parse(body.toString());
      made.notes.push({ note, id, file, readId: read_url.split('/').at(-2) });
    }
    tell();
  }
}

/** Posts on several connections, and kills the service a moment after the first note, or form, was acknowledged. */
async function killWhilePosting(service: ServiceProcess, round: number): Promise<Made> {
  const made: Made = { notes: [], forms: [] };
  const awaited = round % 2 === 0 ? made.notes : made.forms;
  const first = Promise.withResolvers<void>();
  const tell = () => {
    if (awaited.length > 0) first.resolve();
  };
  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => RawConnection.open(service.port)),
  );
  const posting = connections.map((connection) => postOn(connection, round, made, tell).catch(() => {}));
  await Promise.race([first.promise, service.exit]);
  await delay(randomInt(20, 150));
  await service.kill('SIGKILL');
  await Promise.all(posting);
  return made;
}

async function isThere(url: string, { note, id, file, readId }: Acknowledged): Promise<boolean> {
  const shown = await ask(`${url}/api/v1/feeds/${note.feed}/notes/${id}`);
  const { bytes } = await ask(`${url}/r/${readId}/${file}`);
  const isSame = shown.status === 200 && JSON.stringify(shownOf(shown.json)) === JSON.stringify(note.shown);
  return isSame && sent.find(bytes)?.key === note.key;
}

async function isFormThere(url: string, { tag, feed }: AcknowledgedForm): Promise<boolean> {
  const { json } = await ask(`${url}/api/v1/feeds/${feed}/notes?tag=${tag}`);
  return sentForms.isWhole(tag, feed, json.notes ?? []);
}

/** All notes that a feed lists, page by page. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any member of an answer
async function listed(url: string, feed: string): Promise<any[]> {
  const notes = [];
  for (let before = ''; ; ) {
    const { status, json } = await ask(`${url}/api/v1/feeds/${feed}/notes?limit=100${before}`);
    if (status === 404) return [];
    notes.push(...json.notes);
    if (json.next === null) return notes;
    before = `&before=${encodeURIComponent(json.next)}`;
  }
}

t.setTimeout(600_000);

t.test('killed again and again, it loses nothing and shows nothing by half', async (t) => {
  const dir = await dataDir(t);
  const end = Date.now() + MAX_MS;
  let service = await ServiceProcess.start(t, { dir });
  let rounds = 0;
  for (; rounds < ROUNDS && Date.now() < end; rounds++) {
    const made = await killWhilePosting(service, rounds);
    service = await ServiceProcess.start(t, { dir });
    // Whole folders are removed beside the work, for they may be large.
    await eventually(async () => (await leftovers(dir)).length === 0);
    const left = await leftovers(dir);
    const there = await Promise.all([
      ...made.notes.map((one) => isThere(service.url, one)),
      ...made.forms.map((one) => isFormThere(service.url, one)),
    ]);
    acknowledged.notes.push(...made.notes);
    acknowledged.forms.push(...made.forms);
    if (left.length === 0 && there.every(Boolean)) continue;
    t.same(left, [], `nothing unfinished is left after kill ${rounds + 1}`);
    t.same(there.indexOf(false), -1, `everything acknowledged before kill ${rounds + 1} is there`);
  }
  t.comment(`${rounds} kills, ${sent.size} notes sent, ${acknowledged.notes.length} acknowledged`);
  t.comment(`${sentForms.size} forms sent, ${acknowledged.forms.length} acknowledged`);
  t.same(refusals, [], 'nothing was refused');

  const files = new Map<string, string>();
  const forms = new Set<string>();
  for (const feed of feeds) {
    const readIds = new Set<string>();
    const notes = await listed(service.url, feed);
    const ofForms = Map.groupBy(notes, ({ tags }) => tags.find((tag: string) => tag.startsWith('form-')));
    for (const [tag, its] of ofForms) {
      if (tag === undefined) continue;
      if (!(await sentForms.isWhole(tag, feed, its)))
        t.same(its, [], `${tag} in ${feed} is there whole or not at all`);
      forms.add(tag);
    }
    for (const note of ofForms.get(undefined) ?? []) {
      const { bytes } = await ask(note.file_url);
      const source = sent.find(bytes);
      const shown = { feed, ...shownOf(note), content: note.content ?? bytes.toString() };
      const expected = { feed: source?.feed, ...source?.shown, content: bytes.toString() };
      if (JSON.stringify(shown) !== JSON.stringify(expected))
        t.same(shown, expected, `${note.file} in ${feed} is what was sent`);
      files.set(`${feed}/${note.file}`, source?.key ?? '');
      readIds.add(note.file_url.split('/').at(-2));
    }
    for (const one of acknowledged.notes) if (one.note.feed === feed) readIds.add(one.readId);
    if (readIds.size > 1) t.fail(`the read id of ${feed} changed: ${[...readIds].join(', ')}`);
  }
  const lost = acknowledged.notes.filter(({ note, file }) => files.get(`${note.feed}/${file}`) !== note.key);
  t.same(lost, [], 'no acknowledged note is lost');
  t.same(
    acknowledged.forms.filter(({ tag }) => !forms.has(tag)),
    [],
    'no acknowledged form is lost',
  );
  const count = acknowledged.notes.length + acknowledged.forms.length;
  t.ok(count >= rounds, 'every kill came after something acknowledged');
  t.ok(acknowledged.forms.length > 0, 'forms among it');
});
