/**
 * Everything at once, for an hour: posts of texts and pictures that expire after some minutes and of texts that stay, edits, deletions, polls, searches,
 * listeners, files changed by hand, an operator, backups, a store of pictures that goes away and comes back, and a process
 * that is killed every minute. Prints memory, open files, latency and errors over time, and draws them.
 *
 * `node bench/endurance.ts --storage files --minutes 60 --picture files.svg`: the storage (`files`, `sqlite`, `postgres`), the
 * time, and where the picture goes. On PostgreSQL there are three containers, two of which are killed in turn. Elsewhere
 * there is one process, which is killed every minute in the first sixth of the time alone, so that what it does in hours is seen, too.
 * Pictures of SQLite and PostgreSQL are in an S3 server (OpenStack Swift), which Debian has.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { CutProxy } from '../test/support/cut-proxy.ts';
import { SwiftServer } from '../test/support/swift.ts';
import { BACKENDS } from './backends-under-test.ts';
import { Instances } from './endurance/instances.ts';
import { Load } from './endurance/load.ts';
import { draw, insideOf, type Sample, sampleOf } from './endurance/samples.ts';
import { median } from './statistics.ts';
import { row } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MINUTE = 60_000;
const OPERATOR_TOKEN = 'a token of the operator that is long enough';
/** Between two samples, ms. */
const PAUSE = 5_000;
/** The store of pictures is away for so long, ms, every four minutes. */
const AWAY = 20_000;

const { values: options } = parseArgs({
  options: {
    storage: { type: 'string', default: 'files' },
    minutes: { type: 'string', default: '60' },
    picture: { type: 'string', default: 'endurance.svg' },
  },
});
const time = Number(options.minutes) * MINUTE;
const dir = temporaryFolder('endurance');
const endings: (() => unknown)[] = [];
const scope = { teardown: (end: () => unknown) => void endings.unshift(end) };

try {
  await endure();
} finally {
  for (const end of endings) await end();
}

async function endure(): Promise<void> {
  const isFiles = options.storage === 'files';
  const backend = await BACKENDS[options.storage]!(dir);
  endings.unshift(() => backend.stop());
  const store = isFiles ? undefined : await storeThatGoesAway();
  const settings = {
    ...backend.settings,
    ...store?.settings,
    SERVICE_SECRET: 'a secret that is the same in all of them',
    SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
    SERVICE_TRUST_PROXY: '1',
    SERVICE_METRICS: '1',
    // So small that it is full after some minutes, and what grows later is something else.
    SERVICE_CACHE_BYTES: String(4 * 2 ** 20),
    PUBLIC_URL: 'http://notes.example',
  };
  const instances = await Instances.start(dir, options.storage === 'postgres' ? 3 : 1, settings);
  endings.unshift(() => instances.stop());
  const load = new Load(instances.urls, isFiles ? instances.dataDir : undefined, OPERATOR_TOKEN);
  const end = performance.now() + time;
  const isOver = () => performance.now() >= end;
  const disturbances = [
    killing(instances, isOver),
    ...(store ? [every(4 * MINUTE, isOver, store.goAway)] : []),
    ...(options.storage === 'postgres' ? [] : [every(5 * MINUTE, isOver, (n) => backUp(instances, n))]),
  ];
  const [samples] = await Promise.all([sampling(instances, load, isOver), load.run(isOver), ...disturbances]);
  tell(samples);
  for (const [what, count] of [...load.outcomes].sort()) row(what, [String(count)]);
  row('acknowledged notes looked for at the end, lost', (await load.lost()).map(String));
  writeFileSync(options.picture, draw(`${options.storage}, ${options.minutes} minutes`, samples));
}

/** Settings for pictures in S3, behind a network that can be cut. */
async function storeThatGoesAway() {
  const place = await (await SwiftServer.start(scope)).bucket();
  const network = await CutProxy.start(scope, Number(new URL(place.endpoint).port));
  const settings = {
    SERVICE_IMAGES: 's3',
    SERVICE_S3_ENDPOINT: network.url,
    SERVICE_S3_BUCKET: place.bucket,
    SERVICE_S3_REGION: place.region,
    SERVICE_S3_ACCESS_KEY: place.accessKey,
    SERVICE_S3_SECRET_KEY: place.secretKey,
  };
  const goAway = async () => {
    await network.cut();
    await wait(AWAY);
    await network.mend();
  };
  return { settings, goAway };
}

async function killing(instances: Instances, isOver: () => boolean): Promise<void> {
  const until = instances.urls.length > 1 ? time : time / 6;
  const begunAt = performance.now();
  const isEnough = () => isOver() || performance.now() - begunAt > until;
  await every(MINUTE, isEnough, (n) => instances.kill(instances.urls.length > 1 ? 1 + (n % 2) : 0));
}

async function backUp(instances: Instances, n: number): Promise<void> {
  const to = join(dir, `backup-${n}`);
  const run = promisify(execFile);
  if (options.storage === 'files') await run('deploy/copy-files', [instances.dataDir, to]);
  else await run(process.execPath, ['src/main.cjs', 'backup', to], { env: instances.env });
}

/** Does something again and again, for the first time after one pause. */
async function every(
  pause: number,
  isOver: () => boolean,
  work: (n: number) => Promise<void>,
): Promise<void> {
  for (let n = 0, next = performance.now() + pause; ; n += 1, next += pause) {
    while (performance.now() < next) {
      if (isOver()) return;
      await wait(250);
    }
    await work(n);
  }
}

async function sampling(instances: Instances, load: Load, isOver: () => boolean): Promise<Sample[]> {
  const samples: Sample[] = [];
  const begunAt = performance.now();
  while (!isOver()) {
    await wait(PAUSE);
    const inside = await insideOf(instances.urls[0]!);
    const at = (performance.now() - begunAt) / MINUTE;
    samples.push(sampleOf(at, instances.pids, inside, load.takeInterval()));
  }
  return samples;
}

/** The same figures of the time from a sixth to a third, and of the last sixth: what grows is larger in the second. */
function tell(samples: readonly Sample[]): void {
  const sixth = Math.floor(samples.length / 6);
  const [early, late] = [samples.slice(sixth, 2 * sixth), samples.slice(-sixth)];
  row(`${options.storage}, medians`, ['early', 'at the end']);
  const compare = (name: string, value: (sample: Sample) => number) =>
    row(
      name,
      [early, late].map((some) => median(some.map(value)).toFixed(1)),
    );
  compare('memory of the process that is not killed, MB', ({ memory }) => memory[0]!);
  compare('its JavaScript heap', ({ inside }) => inside.heap);
  compare('outside of that heap', ({ inside }) => inside.external);
  compare('its read cache', ({ inside }) => inside.cache);
  compare('its open files', ({ files }) => files[0]!);
  compare('posts, p99, ms', ({ posts }) => posts);
  compare('polls, p99, ms', ({ polls }) => polls);
  compare('searches, p99, ms', ({ searches }) => searches);
  compare('requests/s', ({ perSecond }) => perSecond);
}
