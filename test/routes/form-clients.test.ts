/** Forms of the programs that people post with arrive as they were meant. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import {
  type ClientForm,
  type SendForm,
  sendWithChromium,
  sendWithCurl,
  sendWithFetch,
  sendWithRequests,
  sendWithUndici,
} from '../support/form-clients.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const { url, dir } = await start(t);

const NAMES = ['with a space.png', '"quoted".png', 'größe.png', '😀.png', `it's "größe" & 100% 😀;.png`];

const pictures = NAMES.map((name, i) => ({
  name,
  type: 'image/png',
  alt: `Bild "${i}" größe 😀`,
  bytes: picture('png', 10_000 * i + 64, i),
}));

/** A text that refers to all pictures. */
const textOf = (names: readonly string[], end: string) =>
  `Größe 😀${end}${names.map((name) => `![](<${name}>)`).join(end)}`;

/** What is sent, and the ends of its lines: browsers change those of a field. */
const FORMS: { what: ClientForm['textAs']; start: string; end: string }[] = [
  { what: 'field', start: '', end: ' ' },
  { what: 'file', start: '\ufeff', end: '\n\r\n' },
];

const CLIENTS: { client: string; send: SendForm; skip: string | false }[] = [
  { client: 'curl', send: sendWithCurl, skip: missing('curl') },
  { client: 'Chromium', send: sendWithChromium, skip: missing('chromium') },
  { client: 'python requests', send: sendWithRequests, skip: missing('requests') },
  { client: 'undici', send: sendWithUndici, skip: false },
  { client: "Node's fetch", send: sendWithFetch, skip: false },
];

for (const [i, { client, send, skip }] of CLIENTS.entries())
  for (const { what, start, end } of FORMS)
    t.test(`what ${client} sends, with the text as a ${what}`, { skip }, async (t) => {
      const feed = new FeedClient(url, `client-${i}-${what}`);
      const answer = await send(`${url}/${feed.name}`, {
        text: start + textOf(NAMES, end),
        textAs: what,
        pictures,
      });
      const { file, attachments = [] } = JSON.parse(answer);
      t.equal(attachments.length, NAMES.length, answer);
      const files = attachments.map((one: { file: string }) => one.file);
      const text = readFileSync(join(dir, feed.name, file), 'utf8');
      t.equal(text, start + textOf(files, end));
      const { notes } = (await feed.list()).json;
      t.match(
        notes.slice(1).reverse(),
        pictures.map(({ name, alt, bytes }) => ({ name, alt, size: bytes.length })),
      );
      for (const [place, { file_url: fileUrl }] of attachments.entries())
        t.ok((await ask(fileUrl)).bytes.equals(pictures[place]!.bytes));
    });
