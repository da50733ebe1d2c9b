/**
 * Prints how much memory beyond idle a large feed takes on its way in, in once more, and out as a zip, and how long. Needs Linux
 * (/proc), and room for the feed three times.
 *
 * `node bench/export.ts --storage sqlite --notes 100000 --pictures 1000 --bytes 200000`: the storage (files, sqlite or postgres),
 * the numbers of texts of about 300 bytes and of pictures, and the bytes of a picture.
 */
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NoteIds } from '../src/feeds/ids.ts';
import { ZipWriter } from '../src/read/zip-writer.ts';
import { picture } from '../test/support/pictures.ts';
import { BACKENDS } from './backends-under-test.ts';
import { ServerProcess } from './server-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SETTLE_MS = 3_000;
const SAMPLE_MS = 20;
const MIB = 1024 * 1024;
const WARM_NOTES = 3_000;

const { values: options } = parseArgs({
  options: {
    storage: { type: 'string', default: 'files' },
    notes: { type: 'string', default: '100000' },
    pictures: { type: 'string', default: '1000' },
    bytes: { type: 'string', default: '200000' },
  },
});
const dir = temporaryFolder('export');
const backend = await BACKENDS[options.storage]!(dir);
const zip = join(dir, 'made.zip');
await pipeline(Readable.from(made(Number(options.notes), Number(options.pictures))), createWriteStream(zip));
const small = join(dir, 'small.zip');
await pipeline(Readable.from(made(WARM_NOTES, WARM_NOTES / 100)), createWriteStream(small));

const env = {
  ...backend.settings,
  SERVICE_SECRET: 'a secret that is long enough for this',
  SERVICE_LOG_REQUESTS: '0',
};
let service: ServerProcess;
service = await start();
await measured('import', () => send('POST', 'large/import', zip));
await measured('second import', () => send('POST', 'large/import', zip));
await service.stop();
service = await start();
await measured('export', () => send('GET', 'large/export'));
await measured('second export', () => send('GET', 'large/export'));
await service.stop();
await backend.stop();

/** A service that has been working, so that its threads run and its code is compiled. */
async function start(): Promise<ServerProcess> {
  service = await ServerProcess.startService(join(dir, 'data'), env);
  await send('POST', 'small/import', small);
  await send('GET', 'small/export');
  await send('DELETE', 'small');
  return service;
}

function* made(notes: number, pictures: number): Iterable<Uint8Array> {
  const ids = new NoteIds();
  const writer = new ZipWriter();
  for (let n = 0; n < notes; n += 1) {
    const id = ids.next();
    const text = Buffer.from(`# Note ${n}\n\n${'Words of a note. '.repeat(16)}\n`);
    if (n % 2 === 0)
      yield* writer.file(`.${id}.md.json`, 0, Buffer.from('{"title":"A title","tags":["one","two"]}'));
    yield* writer.file(`${id}.md`, Date.now(), text);
  }
  for (let n = 0; n < pictures; n += 1)
    yield* writer.file(`${ids.next()}.png`, Date.now(), picture('png', Number(options.bytes), n));
  yield* writer.end();
}

/** Memory right before and at most during the work. */
async function measured(what: string, work: () => Promise<string>): Promise<void> {
  await wait(SETTLE_MS);
  const idle = service.residentBytes();
  let most = idle;
  const timer = setInterval(() => {
    most = Math.max(most, service.residentBytes());
  }, SAMPLE_MS);
  const [begunAt, cpu] = [performance.now(), service.cpuMicros()];
  const said = await work();
  clearInterval(timer);
  const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
  const used = ((service.cpuMicros() - cpu) / 1e6).toFixed(1);
  const [before, above] = [idle, most - idle].map((bytes) => Math.round(bytes / MIB));
  console.log(`${what}: ${above} MB above ${before} MB, ${seconds} s, ${used} s of CPU. ${said}`);
}

async function send(method: string, path: string, zip?: string): Promise<string> {
  const headers = zip ? { 'content-type': 'application/zip', 'content-length': statSync(zip).size } : {};
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(`${service.url}/api/v1/feeds/${path}`, { method, headers }, async (response) => {
    let [size, last] = [0, Buffer.alloc(0)];
    for await (const chunk of response) {
      size += chunk.length;
      last = chunk;
    }
    resolve(method === 'POST' ? last.toString().slice(0, 200) : `${Math.round(size / MIB)} MB`);
  }).on('error', reject);
  if (zip) createReadStream(zip).pipe(sent);
  else sent.end();
  return promise;
}
