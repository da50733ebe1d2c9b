/**
 * What one small request may cost the others: the most CPU time of a turn of the event loop while each of these is answered, which once
 * took 0.06 to 9 s. The first one is usual, to compare with.
 *
 * `node bench/costs.ts --rounds 5 --only tag --against ../other-checkout`: how often each is sent, a text that the names of what is
 * measured must hold, and another checkout of this project (with its modules installed) whose service is measured as well.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { FORM_TYPE, formOf } from './form-samples.ts';
import { program, ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { row } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const WATCHED = { NODE_OPTIONS: `--import ${program('turn-watch.ts')}`, SERVICE_LOG_REQUESTS: '0' };
const TEXT_BYTES = 100_000;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    against: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const dir = temporaryFolder('costs');

/** Sends the request once; `n` tells rounds apart. */
type Send = (n: number) => Promise<unknown>;

/** Requests by what they are, each prepared at a service. */
const REQUESTS: Readonly<Record<string, (url: string) => Promise<Send>>> = {
  'a post of 1 KB': async (url) => () => post(`${url}/usual`, 'text/markdown', 'word '.repeat(200)),
  'a tag of 150,000 accents': async (url) => {
    const body = JSON.stringify({ content: 'a', tags: ['\u0301\u0316'.repeat(75_000)] });
    return () => post(`${url}/api/v1/feeds/tags/notes`, 'application/json', body);
  },
  'a note with 140,000 tags that are no texts': async (url) => {
    const body = JSON.stringify({ content: 'a', tags: Array(140_000).fill(1) });
    return () => post(`${url}/api/v1/feeds/tags/notes`, 'application/json', body);
  },
  'a token of 15,000 spaces': async (url) => {
    const headers = { authorization: Buffer.from(`bearer${' '.repeat(15_000)}\u2028`).toString('latin1') };
    return () => fetch(`${url}/api/v1/feeds/any`, { headers });
  },
  'a line of 15,000 spaces to a hook': async (url) => {
    const text = { type: 'text', text: `a${' '.repeat(15_000)}b` };
    const blocks = [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [text] }] }];
    return () =>
      post(`${url}/api/v1/feeds/hooks/hooks/slack`, 'application/json', JSON.stringify({ blocks }));
  },
  'twenty long lists of an assistant': async (url) => {
    await posts(11, `${url}/lists`, 'x'.repeat(TEXT_BYTES));
    const calls = Array.from({ length: 20 }, (_, id) => ({
      ...{ jsonrpc: '2.0', id, method: 'tools/call' },
      params: { name: 'list_notes', arguments: { feed: 'lists', limit: 100 } },
    }));
    return () => post(`${url}/mcp`, 'application/json', JSON.stringify(calls));
  },
  'a list of control characters of an assistant': async (url) => {
    await posts(11, `${url}/controls`, '\x01'.repeat(TEXT_BYTES));
    const params = { name: 'list_notes', arguments: { feed: 'controls', limit: 100 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    return () => post(`${url}/mcp`, 'application/json', body);
  },
  'a call of 15 MB of an assistant': async (url) => {
    const arguments_ = { feed: 'large', markdown: '日'.repeat(5_000_000) };
    const params = { name: 'post_note', arguments: arguments_ };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    return () => post(`${url}/mcp`, 'application/json', body);
  },
  '140,000 values of an assistant': async (url) => {
    const _meta = Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`k${n}`, n]));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
    return () => post(`${url}/mcp`, 'application/json', body);
  },
  '70,000 members of a JSON post': async (url) => {
    const members = Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [n.toString(36), n % 10]));
    const body = JSON.stringify({ ...members, content: 'a' });
    return () => post(`${url}/api/v1/feeds/members/notes`, 'application/json', body);
  },
  'a page of names of pictures': async (url) => {
    const names = Array.from({ length: TEXT_BYTES / 9 }, (_, n) => `${10_000 + n}.png`).join(' ');
    const page = await posts(10, `${url}/names`, names.slice(0, TEXT_BYTES));
    return (n) => fetch(`${page}?before=zzzzzzzz.a${n}.md`);
  },
  // Texts are rendered once, so each round has a feed and texts of its own.
  'a page of 13,000 headings a note': async (url) => async (n) => {
    const headings = (note: number) => `${n} ${note}\n${'# a\n'.repeat(13_000)}`;
    return fetch(await posts(17, `${url}/headings-${n}`, headings));
  },
  'a page of 620 pictures a note, which came with it': async (url) => async (n) => {
    const form = (note: number) =>
      new Uint8Array(formOf(`${n} ${note}\n${'![](0.png)\n'.repeat(620)}`, { count: 10, bytes: 1_000 }));
    return fetch(await posts(20, `${url}/pictures-${n}`, form, FORM_TYPE));
  },
  'a page of empty JPEGs': async (url) => {
    const bytes = new Uint8Array(300_000);
    bytes.set([0xff, 0xd8, 0xff]);
    // Sizes are remembered, so each round has a feed of its own.
    return async (n) => {
      await post(`${url}/jpegs-${n}`, 'image/jpeg', bytes);
      return fetch(`${url}/jpegs-${n}`);
    };
  },
  'a search of 100 terms': async (url) => {
    const page = await posts(1, `${url}/searched`, 'a '.repeat(8_000));
    const search = (terms: number) =>
      fetch(`${page}?q=${Array.from({ length: terms }, () => 'a').join('+')}`);
    await search(1);
    return (n) => search(100 - n);
  },
  'the tags of a feed with 100,000': async (url) => {
    const tags = Array.from({ length: 100_000 }, (_, n) => `${n}`.padStart(6, 't'));
    for (let start = 0; start < tags.length; start += 1_000)
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => {
          const some = tags.slice(start + n * 10, start + n * 10 + 10);
          const body = JSON.stringify({ content: 'a', tags: some });
          return post(`${url}/api/v1/feeds/tagged/notes`, 'application/json', body);
        }),
      );
    // The list is made anew after a post.
    return async () => {
      await post(`${url}/tagged`, 'text/markdown', 'a');
      return fetch(`${url}/api/v1/feeds/tagged/tags`);
    };
  },
};

const mains = { 'this checkout': program('../src/main.cjs') };
if (options.against !== undefined)
  Object.assign(mains, { [options.against]: resolve(options.against, 'src/main.cjs') });
for (const [n, [name, main]] of Object.entries(mains).entries()) {
  console.log(`\n${name}: CPU time of the dearest turn of the event loop in ms, of ${rounds} rounds\n`);
  row('', ['least', 'median', 'most']);
  const server = await ServerProcess.startService(join(dir, `${n}`), WATCHED, main);
  for (const [what, prepare] of Object.entries(REQUESTS)) {
    if (!what.includes(options.only)) continue;
    const send = await prepare(server.url);
    const turns: number[] = [];
    // The first round makes the service load what it needs.
    for (let round = 0; round <= rounds; round += 1) {
      await mostCpu(server);
      const answer = await send(round);
      if (answer instanceof Response) await answer.arrayBuffer();
      turns.push(await mostCpu(server));
    }
    const [, ...counted] = turns;
    const columns = [Math.min(...counted), median(counted), Math.max(...counted)];
    row(
      what,
      columns.map((ms) => ms.toFixed(1)),
    );
  }
  await server.stop();
}

function post(url: string, type: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  const headers = { 'content-type': type, accept: 'application/json, text/event-stream' };
  return fetch(url, { method: 'POST', headers, body });
}

/** Posts a body several times, or several ones; returns the address of the page for readers. */
async function posts(
  count: number,
  url: string,
  body: string | ((n: number) => string | Uint8Array<ArrayBuffer>),
  type = 'text/markdown',
): Promise<string> {
  let readUrl = '';
  for (let n = 0; n < count; n += 1) {
    const answer = await post(url, type, typeof body === 'string' ? body : body(n));
    readUrl = ((await answer.json()) as { read_url: string }).read_url;
  }
  return readUrl.replace('/feed.xml', '');
}

/** Since it was asked for last, in ms. */
async function mostCpu(server: ServerProcess): Promise<number> {
  const line = server.nextLine('mostCpu');
  server.signal();
  return (await line).mostCpu;
}
