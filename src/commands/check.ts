import { type Config, readConfig } from '../config.ts';
import { dropPrivileges } from '../privileges.ts';
import { lookAtStorage, mustBeWritable } from '../storage/look.ts';
import { databasePath } from '../storage/open-storage.ts';
import { databaseName } from '../storage/postgres/connection-options.ts';
import { cannotBeUsed } from '../system-errors.ts';
import type { Command } from './command.ts';

const HELP = `npm start -- --check

Says whether the settings can be used and what they mean, and looks at the place of the notes: whether it can be reached and
written to, and whether this version can use what is there. Nothing is made or changed. The exit code is 0 if the service could
start, else 1.
`;

/** Says what the main settings mean, and what is where the notes are. Nothing is made, and no secret is shown. */
export const command: Command = {
  help: HELP,
  words: [0, 0],
  async run(_words, _options, env) {
    const config = readConfig(env);
    process.stdout.write(summary(config));
    process.stdout.write(`  Found there: ${await look(config)}\n`);
    return 0;
  },
};

/** Throws an error with a sentence for the operator. */
async function look(config: Config): Promise<string> {
  const { storage, dataDir, puid, pgid } = config;
  try {
    const found = await lookAtStorage(config);
    dropPrivileges({ dataDir: storage === 'postgres' ? undefined : dataDir, mayGive: false, puid, pgid });
    mustBeWritable(config);
    return found;
  } catch (error) {
    throw cannotBeUsed(storage === 'fs' ? `DATA_DIR=${dataDir}` : 'SERVICE_DATABASE_URL', error);
  }
}

function summary(config: Config): string {
  const { host, port, processes, publicUrl, trustProxy, rateLimit, metrics, metricsToken } = config;
  return `The settings can be used.
  Notes: ${notes(config)}
  Address: ${host} port ${port}, with ${processes === 1 ? 'one process' : `${processes} processes`}
  Links: begin with ${publicUrl ?? 'the host of each request'}
  Access: ${access(config)}
  Pictures: ${config.imageUploads ? `of at most ${config.maxImageBytes} bytes` : 'refused'}
  Limits: ${limit(rateLimit, 'writes')} a minute for each client, ${caps(config)}
  Licenses: ${licenses(config)}
  Proxy: ${trustProxy ? 'the last X-Forwarded-For, -Host and -Proto are believed' : 'none is believed'}
  Metrics: ${metrics ? `at /metrics, ${metricsToken === undefined ? 'open to all' : 'with SERVICE_METRICS_TOKEN'}` : 'off'}
`;
}

function access({ password, providers }: Config): string {
  const signIns = providers.map(({ issuer, allow }) => {
    const who = allow.includes('*') ? ', whoever has an account there' : '';
    return `by signing in at ${new URL(issuer).host}${who}`;
  });
  const ways = password === undefined ? signIns : ['with SERVICE_PASSWORD', ...signIns];
  return ways.join(', or ') || 'open to all, without SERVICE_PASSWORD';
}

function notes(config: Config): string {
  if (config.storage === 'fs') return `plain files in ${config.dataDir}`;
  if (config.database?.kind !== 'server') return `SQLite database ${databasePath(config)}`;
  const { hosts, database } = databaseName(config.database.url);
  const places = hosts.map(({ host, port }) => `${host} port ${port}`);
  return `PostgreSQL database ${database} on ${places.join(', ')}`;
}

function caps({ maxFeeds, maxNotesPerFeed, maxImagesPerFeed }: Config): string {
  const inEach = `${limit(maxNotesPerFeed, 'texts')} and ${limit(maxImagesPerFeed, 'pictures')}`;
  return `${limit(maxFeeds, 'feeds')}, in each ${inEach}`;
}

function licenses({ licenseKeys, licenseUrl }: Config): string {
  if (licenseKeys === undefined) return 'none are needed';
  const keys = licenseKeys.length === 1 ? 'a public key' : `${licenseKeys.length} public keys`;
  return `needed for pictures and many notes, checked by ${keys}, sold at ${licenseUrl ?? 'no address'}`;
}

function limit(most: number, what: string): string {
  return most === 0 ? `any number of ${what}` : `${most} ${what}`;
}
