/**
 * How soon three containers on one PostgreSQL show what is written through one of them, while that one takes many other
 * writes: median, p99 and maximum from the 201 to the answer that shows the note, in ms, and how often a container that
 * had shown a note took the tag of before it for current again.
 *
 * `node bench/containers.ts --rate 2000 --seconds 20 --pooled`: writes per second wanted, of 1 KB, on 64 connections; whether
 * the containers reach the database through PgBouncer, without `LISTEN`. PostgreSQL and its data are in the system's folder
 * for temporary files.
 */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPgBouncer } from '../test/support/pgbouncer.ts';
import { PostgresServer } from '../test/support/postgres.ts';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const CONNECTIONS = 64;
const FEEDS = 500;
const NOTE = 'x'.repeat(1024);
/** Between two notes that are looked for, in ms. */
const PROBE_PAUSE = 50;
const POLL_PAUSE = 2;

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '20' },
    pooled: { type: 'boolean', default: false },
  },
});
const [rate, seconds] = [Number(options.rate), Number(options.seconds)];

const dir = temporaryFolder('containers');

interface Reply {
  readonly status: number;
  readonly etag: string;
  readonly text: string;
}

const writing = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const reading = new Agent({ keepAlive: true });

const endings: (() => unknown)[] = [];
try {
  const scope = { teardown: (end: () => unknown) => void endings.unshift(end) };
  const server = await PostgresServer.start(scope, ['fsync=on']);
  const database = await server.database();
  const url = options.pooled ? (await startPgBouncer(scope, server))(database) : database;
  const services = await Promise.all([1, 2, 3].map((n) => startContainer(url, n)));
  for (const service of services) endings.unshift(() => service.stop());
  await measure(services.map((service) => service.url));
} finally {
  for (const end of endings) await end();
}

function startContainer(databaseUrl: string, n: number): Promise<ServerProcess> {
  return ServerProcess.startService(join(dir, String(n)), {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: databaseUrl,
    SERVICE_DATABASE_LISTEN: options.pooled ? '0' : '1',
    SERVICE_SECRET: 'a secret that is the same in all of them',
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_WORKERS: '1',
    PUBLIC_URL: 'http://notes.example',
  });
}

async function measure(urls: readonly string[]): Promise<void> {
  const [writer, ...others] = urls as [string, ...string[]];
  const end = performance.now() + seconds * 1000;
  const load = writeUntil(end, writer);
  const { delays, stale } = await probeUntil(end, writer, others);
  const written = await load;
  console.log(`${Math.round(written / seconds)} writes/s of ${rate} wanted, through one of three containers`);
  console.log(
    `shown by the others after ${spread(delays)}; ${delays.length} times looked, ${stale} old answers afterwards`,
  );
}

/** Posts at the wanted rate, or as fast as the service answers; returns how many were acknowledged. */
async function writeUntil(end: number, writer: string): Promise<number> {
  const begunAt = performance.now();
  let begun = 0;
  let written = 0;
  const one = async () => {
    while (performance.now() < end) {
      const early = begunAt + (begun * 1000) / rate - performance.now();
      begun += 1;
      if (early > 1) await wait(early);
      const { status } = await ask('POST', `${writer}/load-${begun % FEEDS}`, writing, NOTE);
      if (status === 201) written += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return written;
}

/** Posts one note after the other, and looks for each through the other containers, which have the one before ready. */
async function probeUntil(end: number, writer: string, others: readonly string[]) {
  const posted = await ask('POST', `${writer}/probe`, reading, 'first');
  const path = `/api/v1/read/${JSON.parse(posted.text).read_url.split('/').at(-2)}/notes?limit=1`;
  const delays: number[] = [];
  let stale = 0;
  for (let n = 0; performance.now() < end; n += 1) {
    const before = await Promise.all(others.map((other) => ask('GET', other + path, reading)));
    const text = `note ${n}`;
    await ask('POST', `${writer}/probe`, reading, text);
    const writtenAt = performance.now();
    await Promise.all(
      others.map(async (other, i) => {
        const current = () => ask('GET', other + path, reading, undefined, before[i]!.etag);
        while (!(await current()).text.includes(text)) await wait(POLL_PAUSE);
        delays.push(performance.now() - writtenAt);
        for (let again = 0; again < 3; again += 1) if ((await current()).status === 304) stale += 1;
      }),
    );
    await wait(PROBE_PAUSE);
  }
  return { delays, stale };
}

function ask(method: string, url: string, agent: Agent, body?: string, etag?: string): Promise<Reply> {
  const headers = {
    ...(body !== undefined && { 'content-type': 'text/markdown', 'content-length': String(body.length) }),
    ...(etag !== undefined && { 'if-none-match': etag }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, etag: response.headers.etag ?? '', text }),
      );
    });
    sent.on('error', reject).end(body);
  });
}
