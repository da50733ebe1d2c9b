import { type Config, readConfig } from '../config.ts';
import { databasePath } from '../storage/open-storage.ts';
import { databaseName } from '../storage/postgres/connection-options.ts';
import type { Command } from './commands.ts';

const HELP = `npm start -- --check

Says whether the settings can be used and what they mean. The exit code is 0 if they can, else 1.
`;

/** Says that the settings can be used, and what the main ones mean. Nothing is opened or made, and no secret is shown. */
export const command: Command = {
  help: HELP,
  words: [0, 0],
  run(_words, _options, env) {
    process.stdout.write(summary(readConfig(env)));
    return 0;
  },
};

function summary(config: Config): string {
  const { host, port, publicUrl, trustProxy, rateLimit, metrics, metricsToken } = config;
  return `The settings can be used. Only they were read: nothing was opened, made or connected to.
  Notes: ${notes(config)}
  Address: ${host} port ${port}
  Links: begin with ${publicUrl ?? 'the host of each request'}
  Access: ${access(config)}
  Pictures: ${config.imageUploads ? `of at most ${config.maxImageBytes} bytes` : 'refused'}
  Limits: ${limit(rateLimit, 'writes')} a minute for each client, ${caps(config)}
  Licenses: ${licenses(config)}
  Proxy: ${trustProxy ? 'the last X-Forwarded-For, -Host and -Proto are believed' : 'none is believed'}
  Metrics: ${metrics ? `at /metrics, ${metricsToken === undefined ? 'open to all' : 'with SERVICE_METRICS_TOKEN'}` : 'off'}
`;
}

function access({ password, oidcIssuer, oidcAllow }: Config): string {
  const who = oidcAllow?.includes('*') ? ', whoever has an account there' : '';
  const ways = [
    password !== undefined && 'with SERVICE_PASSWORD',
    oidcIssuer !== undefined && `by signing in at ${new URL(oidcIssuer).host}${who}`,
  ];
  return ways.filter(Boolean).join(', or ') || 'open to all, without SERVICE_PASSWORD';
}

function notes(config: Config): string {
  if (config.storage === 'fs') return `plain files in ${config.dataDir}`;
  if (config.database?.kind !== 'server') return `SQLite database ${databasePath(config)}`;
  const [host, port, database] = databaseName(config.database.url);
  return `PostgreSQL database ${database} on ${host} port ${port}`;
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
