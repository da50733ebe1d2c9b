import { Client, type ClientConfig, TypeOverrides } from 'pg';
import { hostUrls } from '../../database-hosts.ts';
import { type Hosts, hostsOf } from './hosts.ts';
import { WriterClient } from './writer-client.ts';

/** How long opening a connection may take, or waiting for a free one, in ms. */
const CONNECT_MS = 5_000;
/** How long a statement may take, waiting for locks included, in ms: the server ends it then. */
const STATEMENT_MS = 5_000;
/** Grace after the statement timeout before the connection counts as lost, ms. */
const ANSWER_MARGIN_MS = 1_000;
const KEEP_ALIVE_MS = 10_000;
const INT8_OID = 20;

/** Other limits than those of the service; times in ms. */
export interface ConnectionLimits {
  /** How long a statement may take, waiting for locks included. */
  readonly statementMs?: number;
  /** How long a transaction may wait for its next statement, until all of that has arrived. */
  readonly idleMs?: number;
  /** Statements may read bitmaps of indexes, which GIN needs. */
  readonly usesBitmaps?: boolean;
}

/** The `application_name` of every connection of the service. */
export const APPLICATION_NAME = 'note-feed';

/** Force index plans, because stale statistics and very large feeds mislead the planner. */
const BY_INDEX = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'];
/** Before version 18 the server overestimates these plans and compiles their statements (JIT), which takes longer than running them. */
const UNCOMPILED = 'jit=off';

const types = new TypeOverrides();
// Ids, dates in ms and counts: all far below 2 ** 53.
types.setTypeParser(INT8_OID, Number);

/**
 * Connection options for a `postgres:` URL. Every connection and statement has a time limit, whatever the URL says. Its
 * `sslmode` `disable` turns TLS off, `no-verify` accepts any certificate, and every other value verifies the certificate and
 * the host name.
 */
export function connectionOptions(
  url: string,
  { statementMs = STATEMENT_MS, idleMs = STATEMENT_MS, usesBitmaps = false }: ConnectionLimits = {},
): ClientConfig {
  const { url: connectionString, options } = parseUrl(url);
  const plans = planSettings(usesBitmaps).map((setting) => `-c ${setting}`);
  return {
    connectionString,
    application_name: APPLICATION_NAME,
    // The last one counts.
    options: [options, ...plans].join(' ').trim(),
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    query_timeout: statementMs + ANSWER_MARGIN_MS,
    // Releases the locks of a process that hangs.
    idle_in_transaction_session_timeout: idleMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types,
  };
}

/** The settings of `connectionOptions` as statements for one transaction, because a pooler ignores those of a connection. */
export function localSettings({
  statementMs = STATEMENT_MS,
  idleMs = STATEMENT_MS,
  usesBitmaps = false,
}: ConnectionLimits = {}): string {
  const times = [`statement_timeout=${statementMs}`, `idle_in_transaction_session_timeout=${idleMs}`];
  return [...times, ...planSettings(usesBitmaps)].map((setting) => `SET LOCAL ${setting}`).join('; ');
}

function planSettings(usesBitmaps: boolean): string[] {
  return [...BY_INDEX, UNCOMPILED, ...(usesBitmaps ? [] : ['enable_bitmapscan=off'])];
}

/** A connection outside of any pool, to the host that takes writes; it throws what the client does. */
export async function connect(url: string, limits?: ConnectionLimits): Promise<Client> {
  const client = new WriterClient(connectionOptions(url, limits));
  await client.connect();
  return client;
}

/** What is known here of the hosts of a URL; undefined if it names one only. */
export function knownHosts(url: string): Hosts | undefined {
  return hostsOf(parseUrl(url).url);
}

/** What identifies a database. */
interface DatabaseName {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly database: string | undefined;
}

/** Identifies the database of a URL, without user and password. */
export function databaseName(url: string): DatabaseName {
  const options = connectionOptions(url);
  const urls = hostUrls(options.connectionString!) ?? [];
  const clients = urls.map((connectionString) => new Client({ ...options, connectionString }));
  return { hosts: clients.map(({ host, port }) => ({ host, port })), database: clients[0]?.database };
}

/** Parameters that the service sets itself. They are removed from the URL, where they would win. */
const DECIDED = [
  'application_name',
  'statement_timeout',
  'query_timeout',
  'idle_in_transaction_session_timeout',
  'options',
];
/** Values that the client treats as `verify-full`, with a long warning on standard error. */
const AS_VERIFY_FULL: readonly (string | null)[] = ['prefer', 'require', 'verify-ca'];

/** The URL without the parameters that `connectionOptions` sets itself, and its `options`. */
function parseUrl(url: string): { url: string; options: string } {
  const end = url.includes('?') ? url.indexOf('?') : url.length;
  const parameters = new URLSearchParams(url.slice(end));
  const options = parameters.get('options') ?? '';
  for (const name of DECIDED) parameters.delete(name);
  if (AS_VERIFY_FULL.includes(parameters.get('sslmode'))) parameters.set('sslmode', 'verify-full');
  const rest = parameters.size > 0 ? `?${parameters}` : '';
  return { url: url.slice(0, end) + rest, options };
}
