/**
 * Loads the service and a bare uWebSockets server that answers the same bytes, in turn and several times, and
 * prints one table of medians. Needs Linux (/proc).
 *
 * `npm run bench -- --seconds 2 --rounds 3 --only RSS --dir /srv/bench`: the length of a round, the number of
 * rounds, a text that the names of what is measured must hold, and where the data folders are made (the system's
 * folder for temporary files unless given).
 *
 * On ext4, files are made several times more slowly for about five minutes after many were deleted in the same
 * place: the kernel steps over recently deleted inodes one by one. The bench deletes what it made, so a second run
 * right after the first measures that. Give it another folder, or wait.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { idleBytes, load, probe, type Round } from './child.ts';
import {
  type Comparison,
  type Load,
  logComparison,
  passwordComparison,
  postComparisons,
  ratioOf,
  readComparisons,
  type Servers,
} from './comparisons.ts';
import { type Bodies, type Read, record, seed, writeBodies } from './samples.ts';
import { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { columns, medians, row, size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const CONNECTIONS = 64;
/** All connections are of one client. */
const UNLIMITED = { SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0' };
/** Fewer than the service takes with 20,000 descriptors. */
const IDLE_CONNECTIONS = 9_000;
/** Durable posts one at a time, per second: fewer than this and something slows the disk down. */
const SLOW_DISK = 500;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);
const chosen = (name: string) => name.includes(options.only);

const amount: Load = { connections: CONNECTIONS, seconds };

const dir = temporaryFolder('bench', options.dir);
await bench();

async function bench(): Promise<void> {
  const bodies = writeBodies(dir);
  const picture = readFileSync(bodies.picture);
  const [service, logging] = await Promise.all([
    ServerProcess.startService(join(dir, 'off'), { ...UNLIMITED, SERVICE_LOG_REQUESTS: '0' }),
    ServerProcess.startService(join(dir, 'on'), { ...UNLIMITED, SERVICE_LOG_REQUESTS: '1' }),
  ]);
  const reads = await seed(service.url, picture);
  const [loggedRead] = await seed(logging.url, picture);
  const answers = await Promise.all(
    reads.map((read, n) => record(service.url, read, join(dir, `answer-${n}`))),
  );
  const bare = await ServerProcess.startBare(dir, answers);
  const servers = { service, logging, bare };
  try {
    const sized = reads.map((read, n) => ({
      ...read,
      name: `${read.name}, ${size(answers[n]?.bytes ?? 0)}`,
    }));
    // First, for memory that earlier load has left behind would be used again unseen.
    if (chosen('idle connections')) await compareIdle(servers, sized);
    explain();
    const comparisons = [
      ...readComparisons(servers, sized, amount),
      ...postComparisons(servers, bodies, amount),
      passwordComparison(servers, bodies, amount),
    ];
    if (loggedRead) comparisons.push(logComparison(servers, sized, loggedRead, amount));
    for (const comparison of comparisons.filter(({ name }) => chosen(name))) await compare(comparison);
    await compareWaits(servers, sized, bodies);
  } finally {
    await Promise.all([service.stop(), logging.stop(), bare.stop()]);
  }
}

/** Runs both in turn, several times, and prints the medians. */
async function compare(comparison: Comparison): Promise<void> {
  const { name, subject, baseline, basis, isDurable } = comparison;
  const results: [Round[], Round[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    results[0].push(await load(...subject));
    results[1].push(await load(...baseline));
  }
  const [ours, theirs] = [medians(results[0]), medians(results[1])];
  const ratio = ratioOf(comparison, ours, theirs).toFixed(2);
  row(name, [...columns(ours), ...columns(theirs), ` ${ratio} ${basis}`]);
  if (isDurable && theirs.perSecond < SLOW_DISK)
    console.log(
      `  The disk is slow: fewer than ${SLOW_DISK} synced files a second. Were many files deleted in --dir shortly before?`,
    );
}

async function compareIdle({ service, bare }: Servers, reads: readonly Read[]): Promise<void> {
  const ours = await idleBytes(service, reads[1]?.path ?? '/', IDLE_CONNECTIONS);
  const theirs = await idleBytes(bare, '/1', IDLE_CONNECTIONS);
  console.log(
    `${IDLE_CONNECTIONS} idle connections: ${size(ours)} each, ${size(ours * IDLE_CONNECTIONS)} in all; ` +
      `baseline ${size(theirs)} each\n`,
  );
}

/** What readers wait while nothing else happens and while pictures are posted. */
async function compareWaits(
  { service }: Servers,
  reads: readonly Read[],
  { picture }: Bodies,
): Promise<void> {
  const measured = reads.filter(({ name }) => /^(RSS,|RSS 304|picture)/.test(name) && chosen(`p99 ${name}`));
  if (measured.length > 0)
    console.log(`\np99 in ms, idle and while ${CONNECTIONS} connections post pictures`);
  for (const { name, path, headers } of measured) {
    const results: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const order = { url: service.url + path, headers, seconds };
      results[0].push((await probe(order)).p99);
      const posting = load(service, {
        url: `${service.url}/bench-waits`,
        connections: CONNECTIONS,
        duration: seconds + 1,
        headers: { 'content-type': 'image/png' },
        bodyFile: picture,
      });
      results[1].push((await probe(order)).p99);
      await posting;
    }
    const [idle, loaded] = [median(results[0]), median(results[1])];
    console.log(
      `${name.padEnd(28)} ${idle.toFixed(2)} → ${loaded.toFixed(2)}, ratio ${(loaded / idle).toFixed(1)}`,
    );
  }
}

function explain(): void {
  console.log(
    [
      `${CONNECTIONS} connections, no pipelining, ${rounds} rounds of ${seconds} s each in turn, medians.`,
      'The client (autocannon; raw sockets for pictures) is slower than both servers, so the ratio of reads is CPU per request: baseline / service.',
      'The baseline of posts syncs one file and one folder at a time; their ratio is requests/s: service / baseline.',
      'CPU: µs per request, user and system, all threads of the server. p50 and p99: milliseconds.',
      '',
    ].join('\n'),
  );
  row('', ['service/s', 'p50', 'p99', 'CPU', 'base/s', 'p50', 'p99', 'CPU', 'ratio']);
}
