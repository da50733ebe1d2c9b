import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import { type FeedName, type NoteFile, noteFile, parseNoteFile } from '../../src/feeds/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { BackendName } from '../support/open-backend.ts';
import { KEYED_FEED, postKeyed } from '../support/post-keyed.ts';
import { reads } from '../support/storing.ts';
import { bytesOf } from './contract.ts';

/**
 * Starts the posting into a place, several times, and kills it at a random moment after its first notes; returns
 * the lines it printed.
 */
export async function postAndKill(place: string, backend: BackendName, kills: number): Promise<string[]> {
  const lines: string[] = [];
  for (let i = 0; i < kills; i += 1) lines.push(...(await killedOnce(place, backend)));
  return lines;
}

/**
 * Posts under keys and kills, several times; after each kill what may not have been answered is posted again. Then every key
 * has one note, and every post has had the answer of the first.
 */
export async function noKeyTwice(
  t: Test,
  place: string,
  { backend, kills, open }: { backend: BackendName; kills: number; open: () => Promise<Storage> },
): Promise<void> {
  const answers = new Map<string, string>();
  const last = () => Math.max(0, ...[...answers.keys()].map(Number));
  let [again, doubles] = [0, 0];
  const answered = (number: string, id: string) => {
    if ((answers.get(number) ?? id) !== id) doubles += 1;
    answers.set(number, id);
  };
  for (let i = 0; i < kills; i += 1) {
    while (answers.has(`${again}`)) again += 1;
    for (const line of await killedOnce(place, backend, ['post-keyed', `${again}`]))
      answered(...(line.split(' ') as [string, string]));
  }
  const storage = await open();
  // Each client had one on its way.
  const count = last() + 10;
  for (let n = 0; n < count; n += 1) answered(`${n}`, await postKeyed(storage, n));
  const feed = (await storage.feed(KEYED_FEED))!;
  t.equal(doubles, 0);
  t.equal(feed.noteCount - feed.imageCount, count, `${count} keys, ${kills} kills`);
  t.equal(feed.imageCount, Math.ceil(count / 3));
}

async function killedOnce(
  place: string,
  backend: BackendName,
  [script, ...args]: readonly string[] = ['post-notes'],
): Promise<string[]> {
  const path = new URL(`../fixtures/${script}.ts`, import.meta.url).pathname;
  const child = spawn(process.execPath, [path, place, backend, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  if (output === '') throw new Error(`It ended before it had posted anything: ${await closed}`);
  await wait(Math.random() * 150);
  child.kill('SIGKILL');
  await closed;
  return output.split('\n').slice(0, -1);
}

/** Nothing that was acknowledged before any of the kills is lost, and no part of a request is listed. */
export async function nothingIsLost(
  t: Test,
  storage: Storage,
  lines: readonly string[],
  kills: number,
): Promise<void> {
  const lost = [];
  for (const line of lines) if (!(await isWhole(storage, line))) lost.push(line);
  t.same(lost, []);
  t.ok(lines.length > kills, `${lines.length} notes were acknowledged`);
  const feeds = new Set(lines.map((line) => line.split(' ')[0] as FeedName));
  for (const feed of feeds)
    if (!(await listedAreWhole(storage, feed))) t.fail('a part of a request is listed');
}

/** The note that a printed line tells of is there, and is what was posted. */
async function isWhole(storage: Storage, line: string): Promise<boolean> {
  const [feed, file, length] = line.split(' ') as [FeedName, NoteFile, string];
  const { id, type } = parseNoteFile(file)!;
  const note = await reads(storage).note(feed, id);
  const stored = await reads(storage).stat(feed, file);
  if (!note || !stored) return false;
  const text = (await bytesOf(stored)).toString();
  const isRight = isText(id, text) && (text.length === Number(length) || text.endsWith(' edited'));
  return note.type === type && isRight && String(note.meta.tags) === 't';
}

function isText(id: string, text: string): boolean {
  const [own, needed, end = ''] = text.split(' ');
  return own === id && needed !== undefined && /^(x*|edit|edited)$/.test(end);
}

/** Everything listed is whole: text and metadata are those of one post, and what came with it is there too. */
export async function listedAreWhole(storage: Storage, feed: FeedName): Promise<boolean> {
  const texts = new Map<string, string>();
  let before: Awaited<ReturnType<Storage['page']>>['next'];
  do {
    const page = await reads(storage).page(feed, { limit: 100, before });
    for (const { id, type, meta } of page.notes) {
      const stored = await reads(storage).stat(feed, noteFile(id, type));
      const text = (await bytesOf(stored!)).toString();
      if (String(meta.tags) !== 't' || !isText(id, text)) return false;
      texts.set(noteFile(id, type), text);
    }
    before = page.next;
  } while (before);
  return [...texts.values()].every((text) => {
    const [, needed = '', end] = text.split(' ');
    if (needed === '-') return true;
    return end === 'edit' ? texts.get(needed)?.endsWith(' edited') : texts.has(needed);
  });
}
