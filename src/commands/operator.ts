import { readFileSync } from 'node:fs';
import { readSome } from '../config.ts';
import { isFeedName } from '../feeds/names.ts';
import type { Json } from '../schemas.ts';
import { type Environment, readSetting, type Setting, setting } from '../setting.ts';
import { baseUrl, secretText } from '../setting-kinds.ts';
import { readSecret } from '../storage/files/secret.ts';
import { feedHash } from '../telemetry/fields.ts';
import { type Command, type Options, Progress, WrongArguments } from './command.ts';

const HELP = `npm run operator -- unreferenced
npm run operator -- clean
npm run operator -- move --from db
npm run operator -- move --from fs --dir <folder as the service sees it>
npm run operator -- move --from s3 --endpoint <url> --bucket <name> [--region <name>]
npm run operator -- hash <feed>

unreferenced counts what no note refers to in the image store of the running service, clean removes it, and move moves
pictures into that store until all are moved; --limit is how many it looks at in one request. The service is asked at
OPERATOR_URL, else at PUBLIC_URL, else at this machine's PORT, with SERVICE_OPERATOR_TOKEN. Secrets come from variables or
files named by them with _FILE at the end, never from arguments: SERVICE_OPERATOR_TOKEN, and of the store that is moved
from, MOVE_S3_ACCESS_KEY and MOVE_S3_SECRET_KEY.

hash prints what stands for a feed in the lines of the log. It asks no service, but needs its secret: SERVICE_SECRET, or
the .secret in DATA_DIR. "-" reads the name from standard input, so it is in no list of processes.
`;

const UNREFERENCED = '/api/operator/images/unreferenced';
const MOVE = '/api/operator/images/move';
/** Attempts for a request that fails on the way, and the pause between, ms. */
const ATTEMPTS = 5;
const PAUSE_MS = 2_000;

interface Service {
  readonly url: string;
  readonly token: string;
}

/** Calls the operator endpoints from a terminal. The exit code is 0 where nothing failed and nothing is missing. */
export const command: Command = {
  help: HELP,
  options: ['from', 'dir', 'endpoint', 'bucket', 'region', 'limit'],
  words: [1, 2],
  async run([what, feed], options, env) {
    if (what === 'hash' && feed !== undefined) return hash(feed, env);
    if (feed !== undefined) throw new WrongArguments();
    const service = serviceIn(env);
    if (what === 'move') return move(service, options, env);
    if (Object.keys(options).length > 0 || (what !== 'unreferenced' && what !== 'clean'))
      throw new WrongArguments();
    const result = await ask<'Unreferenced'>(service, what === 'clean' ? 'DELETE' : 'GET', UNREFERENCED);
    process.stdout.write(shown(result));
    return (result.failed ?? 0) + result.missing > 0 ? 1 : 0;
  },
};

async function hash(text: string, env: Environment): Promise<number> {
  const feed = text === '-' ? readFileSync(0, 'utf8').trim() : text;
  if (!isFeedName(feed))
    throw new Error('This is not the name of a feed: 1 to 64 characters of a-z, 0-9, - and _.');
  const settings = readSome(env, ['secret', 'derivedReadIds', 'storage', 'dataDir']);
  const inFolder = settings.storage === 'fs' ? await readSecret(settings.dataDir, settings) : undefined;
  const secret = settings.secret ?? inFolder?.key;
  if (secret === undefined)
    throw new Error('SERVICE_SECRET must be set as for the service, or DATA_DIR, with its file .secret.');
  process.stdout.write(`${feedHash(secret)(feed)}\n`);
  return 0;
}

function serviceIn(env: Environment): Service {
  const { port, publicUrl, operatorToken } = readSome(env, ['port', 'publicUrl', 'operatorToken']);
  if (operatorToken === undefined) throw new Error('SERVICE_OPERATOR_TOKEN must be set, as for the service.');
  const url = settingOf(env, setting('OPERATOR_URL', baseUrl)) ?? publicUrl ?? `http://127.0.0.1:${port}`;
  return { url, token: operatorToken };
}

async function move(service: Service, { limit, ...from }: Options, env: Environment): Promise<number> {
  if (from.from === undefined || (limit !== undefined && !/^\d{1,5}$/.test(limit)))
    throw new WrongArguments();
  const keys =
    from.from === 's3'
      ? {
          access_key: settingOf(env, setting('MOVE_S3_ACCESS_KEY', secretText([1, 256]))),
          secret_key: settingOf(env, setting('MOVE_S3_SECRET_KEY', secretText([1, 1024]))),
        }
      : {};
  const body = { ...from, ...keys, ...(limit !== undefined && { limit: Number(limit) }) };
  const progress = new Progress(process.stdout);
  const sum = { moved: 0, bytes: 0, skipped: 0, missing: 0, failed: 0 };
  for (let after: string | null = ''; after !== null; ) {
    const page: Json<'MovedImages'> = await ask<'MovedImages'>(service, 'POST', MOVE, { ...body, after });
    sum.moved += page.moved.count;
    sum.bytes += page.moved.bytes;
    for (const member of ['skipped', 'missing', 'failed'] as const) sum[member] += page[member];
    after = page.next;
    progress.step(() => `Moved ${sum.moved} pictures (${sum.bytes} bytes), ${page.left} still to look at.`);
  }
  progress.say(
    `Moved ${sum.moved} pictures (${sum.bytes} bytes). There already or changed meanwhile: ${sum.skipped}. ` +
      `In neither place: ${sum.missing}. Refused by a store, to be moved by another run: ${sum.failed}.`,
  );
  return sum.failed + sum.missing > 0 ? 1 : 0;
}

function shown({ store, unreferenced, deleted, failed, too_recent, missing }: Json<'Unreferenced'>): string {
  const lines = [
    `Store: ${store}`,
    `Referred to by no note, and older than an hour: ${unreferenced.count} (${unreferenced.bytes} bytes)`,
    ...(deleted ? [`Removed: ${deleted.count} (${deleted.bytes} bytes)`, `Not removed: ${failed}`] : []),
    `Younger, and left alone: ${too_recent}`,
    `Pictures whose object is missing: ${missing}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Retries while the service is unreachable, because every action here may be repeated. */
async function ask<N extends 'Unreferenced' | 'MovedImages'>(
  service: Service,
  method: string,
  path: string,
  body?: unknown,
): Promise<Json<N>> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${service.token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
    if (reply?.ok) return (await reply.json()) as Json<N>;
    const isAway = reply === undefined || [502, 503, 504].includes(reply.status);
    if (!isAway || attempt === ATTEMPTS) throw new Error(await reason(service, reply));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function reason({ url }: Service, reply: Response | undefined): Promise<string> {
  if (reply === undefined) return `The service does not answer at ${url}.`;
  const said = (await reply.json().catch(() => ({}))) as { readonly error?: string; readonly code?: string };
  return `The service refuses (${reply.status} ${said.code ?? ''}): ${said.error ?? 'it does not say why.'}`;
}

function settingOf<T>(env: Environment, asked: Setting<T>): T {
  const reading = readSetting(env, asked);
  if ('problem' in reading) throw new Error(`${reading.problem}.`);
  return reading.value;
}
