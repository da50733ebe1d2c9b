import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { type FeedName, isFeedName, ROUTE_NAMES } from '../../feeds/names.ts';
import { FeedIndex } from './feed-index.ts';
import { NO_SECRET } from './files-archive.ts';
import {
  type Finding,
  finding,
  inspectFeed,
  notOfKind,
  type Reason,
  whyNotRead,
  whyUnfinished,
} from './inspect-feed.ts';
import { readText } from './line-files.ts';
import { feedsAmong, isRootFile, READ_ID_FILE } from './names.ts';
import { parseRecords, RECORD_KINDS, RECORD_LINES } from './record-lines.ts';
import { type FolderSecret, readSecret, type SecretSettings } from './secret.ts';

/** Folders of feeds that are read at once. */
const AT_ONCE = 32;
/** Time between two looks, ms: what both find is no change that a running service makes just now. */
const AGAIN_MS = 1_000;
/** The file system makes this folder. */
const LOST_AND_FOUND = 'lost+found';

/** What is in a data folder. */
export interface FolderInspection {
  /** How many the service takes. */
  readonly feeds: number;
  readonly notes: number;
  /** What it does not take, in the order of the paths. */
  readonly found: readonly Finding[];
}

/**
 * Finds what the service does not take in a data folder. Changes nothing, and the service may run meanwhile. Throws the system's
 * error if the folder cannot be read.
 * @param settings those of the service, because a folder may have a `.readid` that follows from the secret for another one
 */
export async function inspectFolder(dir: string, settings: SecretSettings): Promise<FolderInspection> {
  const secret = (await readSecret(dir, settings).catch(() => undefined)) ?? NO_SECRET;
  const { involved, ...first } = await look(dir, secret);
  if (first.found.length === 0) return first;
  await delay(AGAIN_MS);
  const again = await look(dir, secret, involved);
  const still = new Set(again.found.map(identity));
  return { ...first, found: first.found.filter((one) => still.has(identity(one))) };
}

function identity({ path, problem }: Finding): string {
  return `${problem} ${path}`;
}

/**
 * Looks at the data folder once.
 * @param only the feeds that are looked at; all unless given
 */
async function look(
  dir: string,
  secret: Pick<FolderSecret, 'key' | 'derivation'>,
  only?: ReadonlySet<FeedName>,
): Promise<FolderInspection & { readonly involved: ReadonlySet<FeedName> }> {
  const entries = await readdir(dir, { withFileTypes: true });
  const inRoot = await Promise.all(entries.map((entry) => inspectRootEntry(dir, entry)));
  const names = feedsAmong(entries).filter((name) => only?.has(name) ?? true);
  const atOnce = pLimit(AT_ONCE);
  const inspected = await Promise.all(names.map((name) => atOnce(() => inspectFeed(dir, name))));
  const index = new FeedIndex(secret.key, secret.derivation);
  index.addAll(inspected.flatMap(({ feed }) => feed ?? []));
  const waiting = index.waiting();
  const inFeeds = inspected.flatMap(({ found }) => found);
  const shared = waiting.map(([name, holder]) =>
    finding(join(name, READ_ID_FILE), 'read_id', `the feed ${holder} has this read id`),
  );
  const found = [...inRoot.flat(), ...inFeeds, ...shared];
  const folders = found.map(({ path }) => path.split('/')[0]!);
  return {
    feeds: index.size,
    notes: inspected.reduce((sum, { noteCount }) => sum + noteCount, 0),
    found: found.sort((a, b) => (a.path < b.path ? -1 : 1)),
    involved: new Set([...folders.filter(isFeedName), ...waiting.flat()]),
  };
}

async function inspectRootEntry(dir: string, entry: Dirent): Promise<readonly Finding[]> {
  const { name } = entry;
  const problem = isRootFile(name) ? await whyRootFile(dir, entry) : whyNoFeed(entry);
  return problem ? [finding(name, ...problem)] : [];
}

async function whyRootFile(dir: string, entry: Dirent): Promise<Reason | undefined> {
  const problem = whyNotRead(dir, entry);
  const kind = RECORD_KINDS.find((one) => RECORD_LINES[one].file === entry.name);
  if (problem || kind === undefined) return problem;
  const { unread } = parseRecords(kind, await readText(dir, entry.name));
  return unread === 0 ? undefined : ['lines', `${unread} of its lines cannot be read`];
}

function whyNoFeed(entry: Dirent): Reason | undefined {
  const { name } = entry;
  const unfinished = whyUnfinished(name);
  if (unfinished) return unfinished;
  if (name === LOST_AND_FOUND) return undefined;
  if (!entry.isDirectory()) return notOfKind(entry, 'folder');
  if (!isFeedName(name)) return ['name', 'the name of a feed has 1 to 64 characters of a-z, 0-9, - and _'];
  return ROUTE_NAMES.has(name)
    ? ['name', 'a path of the service has this name, so nobody can post here']
    : undefined;
}
