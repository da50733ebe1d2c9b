/**
 * Posts forms that cost the service much, and prints what comes of it:
 *
 * - texts of about 100 KB that take long to read, each with a small picture, several at once from one client address
 *   and from several: how long the longest waits for its answer, and what raw posts of 1 KB and readers of RSS on other
 *   connections wait meanwhile, beside what they wait when nothing else happens;
 * - forms of ten pictures of 5 MiB from 20 clients at once: the peak of the service's memory, and how fast the bytes
 *   go in beside a bare server that only receives them.
 *
 * `node bench/forms.ts --only texts --seconds 2 --rounds 2 --dir /srv/bench`: a text that the names of what is
 * measured must hold, how long others are watched while a text is posted again and again, the rounds of pictures, and
 * where the data folders are made. Needs Linux (/proc; 127.0.0.2 and so on are addresses of the machine). Takes three minutes.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { postForms, probe } from './child.ts';
import type { FormsAnswered } from './form-client.ts';
import { FORM_TYPE, formOf, SLOW_TEXTS } from './form-samples.ts';
import { seed, writeBodies } from './samples.ts';
import { ServerProcess } from './server-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PARSE_TIMEOUT_MS = 2000;
const TEXTS_AT_ONCE = 4;
/** Slow ones of one client. */
const TEXTS_PER_CLIENT = 1;
/** Between posts of one connection: a probe is to measure the load, not to be it. */
const POST_PAUSE_MS = 10;
const CLIENTS = 20;
const PICTURES = { count: 10, bytes: 5 * 1024 * 1024 };
const MIB = 1024 * 1024;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '2' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);
const chosen = (name: string) => name.includes(options.only);

const dir = temporaryFolder('forms', options.dir);
const bodies = writeBodies(dir);

await measureTexts();
await measurePictures();

async function measureTexts(): Promise<void> {
  const texts = Object.entries(SLOW_TEXTS).filter(([name]) => chosen(`texts: ${name}`));
  if (texts.length === 0) return;
  console.log(
    `Texts of 100 KB with a picture, ${TEXTS_AT_ONCE} at once for ${seconds} s; time limit ${PARSE_TIMEOUT_MS} ms. ` +
      'p99 in ms of raw posts and of RSS, idle → loaded, ratio.\n',
  );
  textRow('', 'addresses', ['longest, ms', 'raw post', 'RSS', 'answers']);
  const service = await startService('texts');
  try {
    const [rss] = await seed(service.url, Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    const measureWaits = () => waits(service.url, rss?.path ?? '/');
    await measureWaits(); // The first is for the compiler.
    for (const [name, text] of texts) {
      const bodyFile = join(dir, 'text.form');
      writeFileSync(bodyFile, formOf(text, { count: 1, bytes: 1024 }));
      const idle = await measureWaits();
      for (const addresses of [1, TEXTS_AT_ONCE]) {
        const posting = postForms({
          url: `${service.url}/slow-texts`,
          bodyFile,
          type: FORM_TYPE,
          from: addressesOf(TEXTS_AT_ONCE, addresses),
          seconds: seconds + 1,
        });
        const loaded = await measureWaits();
        const { longest, statuses } = await posting;
        // Those of one client take turns; the limit counts from when a text's turn has come.
        const turns = Math.ceil(TEXTS_AT_ONCE / addresses / TEXTS_PER_CLIENT);
        const isLate = longest > turns * PARSE_TIMEOUT_MS + 1000;
        textRow(name, String(addresses), [
          longest.toFixed(0) + (isLate ? ' LATE' : ''),
          compared(idle.post, loaded.post),
          compared(idle.rss, loaded.rss),
          shown(statuses),
        ]);
      }
    }
  } finally {
    await service.stop();
  }
}

/** p99 in ms. */
interface Waits {
  readonly post: number;
  readonly rss: number;
}

async function waits(url: string, rssPath: string): Promise<Waits> {
  const [post, rss] = await Promise.all([
    probe({
      url: `${url}/raw-posts`,
      seconds,
      headers: { 'content-type': 'text/markdown' },
      bodyFile: bodies.text,
      pauseMs: POST_PAUSE_MS,
    }),
    probe({ url: url + rssPath, seconds }),
  ]);
  return { post: post.p99, rss: rss.p99 };
}

function compared(idle: number, loaded: number): string {
  return `${idle.toFixed(2)} → ${loaded.toFixed(2)}, ${(loaded / idle).toFixed(1)}`;
}

async function measurePictures(): Promise<void> {
  const cases = [CLIENTS, 1].filter((addresses) => chosen(`pictures from ${addresses} addresses`));
  if (cases.length === 0) return;
  const bodyFile = join(dir, 'pictures.form');
  const form = formOf(undefined, PICTURES);
  writeFileSync(bodyFile, form);
  console.log(
    `\n${CLIENTS} clients at once post ${PICTURES.count} pictures of ${PICTURES.bytes / MIB} MiB; rounds of ${mebibytes(form.length * CLIENTS)} MiB.\n`,
  );
  const bare = await ServerProcess.startBare(dir, []);
  for (const addresses of cases) {
    const service = await startService(`pictures-${addresses}`);
    const before = service.residentBytes();
    const post = async (server: ServerProcess, path: string) => {
      const cpuBefore = server.cpuMicros();
      const from = addressesOf(CLIENTS, addresses);
      const answered = await postForms({
        url: server.url + path,
        bodyFile,
        type: FORM_TYPE,
        from,
        seconds: 0,
      });
      const megabytes = (form.length * CLIENTS) / 1e6;
      const cpu = (server.cpuMicros() - cpuBefore) / 1000 / megabytes;
      return { ...answered, speed: megabytes / answered.seconds, cpu };
    };
    for (let round = 1; round <= rounds; round++) {
      const ours = await post(service, '/pictures');
      const theirs = await post(bare, '/receive');
      console.log(
        `pictures from ${addresses} addresses, round ${round}: ` +
          `${ours.speed.toFixed(0)} MB/s with ${ours.cpu.toFixed(2)} ms of CPU per MB, ` +
          `bare ${theirs.speed.toFixed(0)} with ${theirs.cpu.toFixed(2)}, ratio ${(ours.speed / theirs.speed).toFixed(2)}; ` +
          `memory ${mebibytes(before)} → ${mebibytes(service.peakBytes())} MiB at most; ` +
          `longest answer ${ours.longest.toFixed(0)} ms; ${shown(ours.statuses)}`,
      );
    }
    await service.stop();
  }
  await bare.stop();
}

function startService(name: string): Promise<ServerProcess> {
  return ServerProcess.startService(join(dir, name), {
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_PARSE_TIMEOUT_MS: String(PARSE_TIMEOUT_MS),
  });
}

/** The local address of each of that many connections, which share that many addresses. */
function addressesOf(connections: number, addresses: number): string[] {
  return Array.from({ length: connections }, (_, n) => `127.0.0.${2 + (n % addresses)}`);
}

function mebibytes(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

/** For example `40 × 201, 3 × 503`. */
function shown(statuses: FormsAnswered['statuses']): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

function textRow(
  name: string,
  addresses: string,
  [longest = '', post = '', rss = '', answers = '']: string[],
) {
  console.log(
    name.padEnd(26) +
      addresses.padStart(9) +
      longest.padStart(13) +
      post.padStart(24) +
      rss.padStart(24) +
      `  ${answers}`,
  );
}
