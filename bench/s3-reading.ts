/**
 * How fast a picture of 5 MiB that is not in the read cache comes out of S3 through the service, beside the same client at
 * the S3 server itself: one read after the other, in turn. Prints medians.
 *
 * `node bench/s3-reading.ts --rounds 25 --against ../other-checkout`: the number of rounds, and another checkout of this
 * project (with its modules installed) whose service is measured in turn with this one. Needs Linux (/proc).
 */
import { Agent, request } from 'node:http';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import t from 'tap';
import { newImageKey } from '../src/feeds/ids.ts';
import type { S3Place } from '../src/images/s3-store.ts';
import { imageSettings, ON_SQLITE } from '../test/support/image-settings.ts';
import { picture } from '../test/support/pictures.ts';
import { post } from '../test/support/service.ts';
import { clientOf, SwiftServer } from '../test/support/swift.ts';
import { program, ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MIB = 1024 * 1024;
const BYTES = 5 * MIB;
/** The first rounds are not counted. */
const WARM_UP = 3;

/** Sizes of the read cache, and whether it keeps a picture of 5 MiB after the first read. */
const CACHES = {
  'too large for the cache': { bytes: MIB, keeps: false },
  'first read of one that is kept': { bytes: 512 * MIB, keeps: true },
};

interface Target {
  readonly name: string;
  /** The request of a round. */
  request(round: number): { readonly url: string; readonly headers: Record<string, string> };
  readonly server: ServerProcess | undefined;
  readonly times: { readonly first: number; readonly all: number; readonly cpu: number }[];
}

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '25' }, against: { type: 'string' } },
});
const rounds = Number(options.rounds) + WARM_UP;
const mains = { 'the service': program('../src/main.cjs') };
if (options.against !== undefined)
  Object.assign(mains, { [options.against]: resolve(options.against, 'src/main.cjs') });

// The supports of tests are tests to tap, which would end them.
t.setTimeout(0);
const dir = temporaryFolder('s3-reading');
const agent = new Agent({ keepAlive: true });
const bytes = picture('png', BYTES);
const ends: (() => unknown)[] = [];
const swift = await SwiftServer.start({ teardown: (end) => ends.push(end) });
for (const [name, cache] of Object.entries(CACHES)) await measure(name, cache);
for (const end of ends) await end();
process.exit();

async function measure(name: string, cache: { readonly bytes: number; readonly keeps: boolean }) {
  const targets = [await bareTarget()];
  for (const [main, path] of Object.entries(mains))
    targets.push(await serviceTarget(main, path, join(dir, `${main}-${name}`.replaceAll('/', '-')), cache));
  for (let round = 0; round < rounds; round += 1)
    for (const [n] of targets.entries()) {
      const { request, server, times } = targets[(n + round) % targets.length]!;
      const before = server?.cpuMicros() ?? 0;
      const time = await read(request(round));
      if (round >= WARM_UP) times.push({ ...time, cpu: ((server?.cpuMicros() ?? 0) - before) / 1000 });
    }
  console.log(`${name}:`);
  const bare = median(targets[0]!.times.map(({ all }) => all));
  for (const { name, server, times } of targets) {
    const [all, first] = [median(times.map(({ all }) => all)), median(times.map(({ first }) => first))];
    const cpu = times.reduce((sum, { cpu }) => sum + cpu, 0) / times.length;
    const cost = server && `, CPU ${cpu.toFixed(1)} ms, ${(bare / all).toFixed(2)} of the bare client`;
    console.log(`  ${name}: ${all.toFixed(1)} ms, first bytes after ${first.toFixed(1)}${cost ?? ''}`);
    await server?.stop();
  }
}

async function serviceTarget(
  name: string,
  main: string,
  dir: string,
  cache: { readonly bytes: number; readonly keeps: boolean },
): Promise<Target> {
  const place = imageSettings({ kind: 's3', ...(await swift.bucket()) });
  const env = { ...ON_SQLITE, ...place, SERVICE_CACHE_BYTES: String(cache.bytes), SERVICE_LOG_REQUESTS: '0' };
  const server = await ServerProcess.startService(dir, env, main);
  const urls: string[] = [];
  // A picture that is kept is read once only.
  while (urls.length < (cache.keeps ? rounds : 1)) {
    const { json } = await post(`${server.url}/feed`, bytes, { 'content-type': 'image/png' });
    urls.push(server.url + new URL(json.file_url).pathname);
  }
  return {
    name,
    server,
    times: [],
    request: (round) => ({ url: urls[round % urls.length]!, headers: {} }),
  };
}

async function bareTarget(): Promise<Target> {
  const place = await swift.bucket();
  const client = clientOf(place);
  const key = newImageKey();
  await client.send(new PutObjectCommand({ Bucket: place.bucket, Key: key, Body: bytes }));
  const signed = await signedRequest(place, key);
  client.destroy();
  return { name: 'a bare client', server: undefined, times: [], request: () => signed };
}

/** A request for an object, whose signature holds for some minutes. */
async function signedRequest(place: S3Place, key: string) {
  const client = clientOf(place);
  let signed: { url: string; headers: Record<string, string> } | undefined;
  client.middlewareStack.add(
    (next) => (args) => {
      const { path, headers } = args.request as { path: string; headers: Record<string, string> };
      signed = { url: `${place.endpoint}${path}?x-id=GetObject`, headers };
      return next(args);
    },
    { step: 'deserialize', name: 'signed', priority: 'low' },
  );
  const { Body } = await client.send(new GetObjectCommand({ Bucket: place.bucket, Key: key }));
  await Body?.transformToByteArray();
  client.destroy();
  return signed!;
}

/** Reads a picture; the time until its first bytes and in all, in ms. */
function read({ url, headers }: ReturnType<Target['request']>): Promise<{ first: number; all: number }> {
  const begunAt = performance.now();
  let first: number | undefined;
  let size = 0;
  const { promise, resolve, reject } = Promise.withResolvers<{ first: number; all: number }>();
  request(url, { agent, headers }, (answer) => {
    answer.on('data', (piece: Buffer) => {
      first ??= performance.now() - begunAt;
      size += piece.length;
    });
    answer.on('error', reject).on('end', () => {
      if (size === BYTES) resolve({ first: first!, all: performance.now() - begunAt });
      else reject(new Error(`${answer.statusCode} with ${size} bytes`));
    });
  })
    .on('error', reject)
    .end();
  return promise;
}
