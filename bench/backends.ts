/**
 * Measures the service on each storage: durable posts of 1 KB beside a bare server that does only the commits, beside
 * two loops without HTTP (posts straight to the storage, and bare commits), reads that nothing is kept for, and memory.
 * Prints medians.
 *
 * `node bench/backends.ts --seconds 3 --rounds 3 --only sqlite --dir /srv/bench`: the length of a round, their number, a
 * text that the name of the storage must hold, and where the data folders are made; PostgreSQL and its data are in the
 * system's folder for temporary files. Needs Linux (/proc).
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BACKENDS, type BackendUnderTest } from './backends-under-test.ts';
import { commitLoop, load, type Round, storageLoop } from './child.ts';
import { writeBodies } from './samples.ts';
import { program, ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { columns, medians, row, size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const CONNECTIONS = 64;
/** Together far more than the cache holds, and read in turn: none is still there when it is asked for again. */
const FEEDS = 500;
const NOTES_PER_FEED = 10;
const CACHE_BYTES = 1024 * 1024;
const SECRET = 'a secret that is long enough for the bench';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const [seconds, rounds] = [Number(options.seconds), Number(options.rounds)];

const dir = temporaryFolder('backends', options.dir);

const bodies = writeBodies(dir);
console.log(
  `${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s, medians. CPU: µs per request, all threads.\n`,
);
row('', ['service/s', 'p50', 'p99', 'CPU', 'base/s', 'p50', 'p99', 'CPU', 'ratio']);
for (const [name, open] of Object.entries(BACKENDS)) {
  if (!name.includes(options.only)) continue;
  const backend = await open(dir);
  try {
    await measure(name, backend);
  } finally {
    await backend.stop();
  }
}

async function measure(name: string, backend: BackendUnderTest): Promise<void> {
  const service = await ServerProcess.startService(join(dir, name), {
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_SECRET: SECRET,
    SERVICE_CACHE_BYTES: String(CACHE_BYTES),
    ...backend.settings,
  });
  try {
    const atFirst = service.residentBytes();
    const reads = await seed(service.url);
    await measurePosts(name, service, backend);
    for (const [read, paths] of Object.entries(reads)) await measureReads(`${name}: ${read}`, service, paths);
    console.log(
      `${name}: ${size(atFirst)} in memory at first, ${size(service.residentBytes())} after all this, ` +
        `${size(service.peakBytes())} at most\n`,
    );
  } finally {
    await service.stop();
  }
}

/** Beside a bare server that does nothing but the commits, in groups as well: on files, one note at a time. */
async function measurePosts(
  name: string,
  service: ServerProcess,
  { bare, spare }: BackendUnderTest,
): Promise<void> {
  const server = await (bare
    ? ServerProcess.start([program('./commit-server.ts'), JSON.stringify(bare)])
    : ServerProcess.startBare(dir, []));
  const order = {
    headers: { 'content-type': 'text/markdown' },
    bodyFile: bodies.text,
    connections: CONNECTIONS,
    duration: seconds,
  };
  const settings = { SERVICE_SECRET: SECRET, ...spare };
  const results: [Round[], Round[]] = [[], []];
  const loops: [number[], number[]] = [[], []];
  try {
    for (let round = 0; round < rounds; round++) {
      results[0].push(await load(service, { ...order, url: `${service.url}/bench-posts` }));
      results[1].push(await load(server, { ...order, url: `${server.url}/post` }));
      loops[0].push((await storageLoop({ settings, writers: CONNECTIONS, seconds })).perSecond);
      if (bare) loops[1].push((await commitLoop({ place: bare, group: CONNECTIONS, seconds })).perSecond);
    }
  } finally {
    await server.stop();
  }
  const [ours, theirs] = [medians(results[0]), medians(results[1])];
  const [straight, commits] = [median(loops[0]), median(loops[1])];
  row(`${name}: post 1 KB, durable`, [...columns(ours), ...columns(theirs), ratio(ours, theirs.perSecond)]);
  besideLoop('  straight to the storage, no HTTP', straight, ratio(ours, straight));
  if (!bare) return;
  besideLoop('  bare commits, no HTTP', commits, ratio(ours, commits));
  besideLoop('    of these the bare server', commits, ratio(theirs, commits));
}

function besideLoop(name: string, perSecond: number, part: string): void {
  row(name, ['', '', '', '', perSecond.toFixed(0), '', '', '', part]);
}

function ratio({ perSecond }: Round, baseline: number): string {
  return (perSecond / baseline).toFixed(2);
}

async function measureReads(name: string, service: ServerProcess, paths: readonly string[]): Promise<void> {
  const pathsFile = join(dir, 'paths.json');
  writeFileSync(pathsFile, JSON.stringify(paths));
  const results: Round[] = [];
  for (let round = 0; round < rounds; round++)
    results.push(
      await load(service, { url: service.url, pathsFile, connections: CONNECTIONS, duration: seconds }),
    );
  row(name, columns(medians(results)));
}

/** Posts notes of 1 KB, all different, to many feeds, and says what is to be read of them. */
async function seed(url: string): Promise<Record<string, readonly string[]>> {
  const feeds = await Promise.all(Array.from({ length: FEEDS }, (_, n) => seedFeed(`${url}/bench-${n}`)));
  const readIds = feeds.map(({ readId }) => readId);
  return {
    'RSS, cold': readIds.map((readId) => `/r/${readId}/feed.xml`),
    'JSON list, cold': readIds.map((readId) => `/api/v1/read/${readId}/notes`),
    'one note as a file, cold': feeds.map(({ readId, id }) => `/r/${readId}/${id}.md`),
  };
}

async function seedFeed(feed: string): Promise<{ readId: string; id: string }> {
  let posted = { id: '', read_url: '' };
  for (let n = 0; n < NOTES_PER_FEED; n++) {
    const body = `# ${feed} ${n}\n\n${'A *line* of a note.\n'.repeat(50)}`;
    const response = await fetch(feed, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body,
    });
    if (response.status !== 201) throw new Error(`a post was answered ${response.status}`);
    posted = (await response.json()) as typeof posted;
  }
  return { readId: posted.read_url.split('/').at(-2)!, id: posted.id };
}
