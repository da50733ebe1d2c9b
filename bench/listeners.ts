/**
 * How soon each of many listeners of one feed is told of a post, and what a listener costs: ms from the post's 201 to the
 * event, and resident memory per listener; on files, on PostgreSQL, and on PostgreSQL through another container than the
 * one that takes the posts.
 *
 * `node bench/listeners.ts --listeners 1000 --rate 10 --seconds 10`: how many, and posts a second. The next post waits until
 * all have heard of the last one. The client is this process alone, so the times are at most as good as it is. PostgreSQL
 * and all data are in the system's folder for temporary files.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startServer } from './backends-under-test.ts';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { row, size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Connections opened at once. */
const AT_ONCE = 100;
/** Listeners that come and go first, so that memory needed once is not counted for the others. */
const WARM_UP = 200;

const { values: options } = parseArgs({
  options: {
    listeners: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '10' },
  },
});
const [count, rate, seconds] = [Number(options.listeners), Number(options.rate), Number(options.seconds)];

const dir = temporaryFolder('listeners');
const SETTINGS = { SERVICE_TRUST_PROXY: '1', SERVICE_LOG_REQUESTS: '0', SERVICE_WORKERS: '1' };

async function measure(name: string, writer: ServerProcess, reader: ServerProcess): Promise<void> {
  const path = await post(writer);
  const crowd = new Crowd();
  await crowd.open(reader, path, WARM_UP);
  await tellOften(writer, crowd, 1);
  crowd.close();
  await wait(1_000);
  const before = reader.residentBytes();
  await crowd.open(reader, path, count);
  const each = (reader.residentBytes() - before) / count;
  const delays = await tellOften(writer, crowd, seconds);
  crowd.close();
  row(name, [size(each), `  ${spread(delays)}`]);
}

/** Posts at the wanted rate; the delays of all listeners, one after the other, in ms. */
async function tellOften(writer: ServerProcess, crowd: Crowd, seconds: number): Promise<number[]> {
  const delays: number[] = [];
  for (let n = 0; n < rate * seconds; n += 1) {
    const begunAt = performance.now();
    const heard = crowd.hears();
    await post(writer);
    const postedAt = performance.now();
    // The event may be faster than the answer.
    for (const toldAt of await heard) delays.push(Math.max(0, toldAt - postedAt));
    await wait(Math.max(0, begunAt + 1000 / rate - performance.now()));
  }
  return delays;
}

/** Posts a note; the path of the events of its feed. */
async function post({ url }: ServerProcess): Promise<string> {
  const headers = { 'content-type': 'text/markdown' };
  const reply = await fetch(`${url}/bench-listeners`, { method: 'POST', body: 'a note', headers });
  const { read_url: readUrl } = (await reply.json()) as { read_url: string };
  return new URL(readUrl).pathname.replace('feed.xml', 'events');
}

/** Many listeners, each a client of its own. */
class Crowd {
  #sockets: Socket[] = [];
  #toldAt: number[] = [];
  #whenAll: (toldAt: number[]) => void = () => {};

  async open({ url }: ServerProcess, path: string, count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += AT_ONCE) {
      const more = Array.from({ length: Math.min(AT_ONCE, count - opened) }, (_, i) =>
        this.#listen(Number(new URL(url).port), path, opened + i),
      );
      this.#sockets.push(...(await Promise.all(more)));
    }
  }

  /** When each heard of the next change. */
  hears(): Promise<number[]> {
    this.#toldAt = [];
    return new Promise((resolve) => {
      this.#whenAll = resolve;
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets = [];
  }

  async #listen(port: number, path: string, n: number): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    const client = `X-Forwarded-For: 10.0.${n >> 8}.${n & 255}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${client}\r\n\r\n`);
    const [head] = await once(socket, 'data');
    if (!String(head).startsWith('HTTP/1.1 200')) throw new Error(String(head));
    socket.on('data', (data) => {
      if (!data.includes('event: changed')) return;
      this.#toldAt.push(performance.now());
      if (this.#toldAt.length === this.#sockets.length) this.#whenAll(this.#toldAt);
    });
    return socket;
  }
}

await bench();

async function bench(): Promise<void> {
  row('', ['each', 'told after']);
  const files = await ServerProcess.startService(join(dir, 'files'), SETTINGS);
  await measure('files', files, files);
  await files.stop();

  const { server, stop } = await startServer();
  try {
    const settings = {
      ...SETTINGS,
      SERVICE_STORAGE: 'postgres',
      SERVICE_DATABASE_URL: await server.database(),
      SERVICE_SECRET: 'a secret that is the same in all of them',
    };
    const start = (name: string) => ServerProcess.startService(join(dir, name), settings);
    const [one, two] = await Promise.all([start('one'), start('two')]);
    await measure('PostgreSQL', one, one);
    await measure('PostgreSQL, through the other container', one, two);
    await Promise.all([one.stop(), two.stop()]);
  } finally {
    await stop();
  }
}
