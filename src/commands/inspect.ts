import { resolve } from 'node:path';
import { type Config, readPlace, readSome } from '../config.ts';
import { dropPrivileges } from '../privileges.ts';
import { type FolderInspection, inspectFolder } from '../storage/files/inspect.ts';
import { cannotBeUsed } from '../system-errors.ts';
import type { Command } from './command.ts';
import { show, table } from './operator/output.ts';

const HELP = `npm run inspect
npm run inspect -- --json

Lists what the service does not take in DATA_DIR, and why: wrong names and extensions, links, what cannot be read, broken
metadata, read ids and keys that two have, and what a crash left. It changes nothing, and the service may run meanwhile. On a
terminal it prints a table, elsewhere and with --json a JSON object; both show the names of feeds, which are secrets. The exit
code is 0 if there is nothing of this kind.
`;

/** Says what the service does not take in a data folder. Started as root, it looks as the user that the service runs as. */
export const command: Command = {
  help: HELP,
  flags: ['json'],
  words: [0, 0],
  async run(_words, { json }, env) {
    const { storage, dataDir } = readPlace(env);
    if (storage !== 'fs')
      throw new Error(`Only plain files can be inspected, and SERVICE_STORAGE is ${storage}.`);
    const settings = readSome(env, ['secret', 'derivedReadIds', 'puid', 'pgid']);
    const inspection = await inspect(dataDir, settings);
    if (json === undefined) show(inspection, (all) => shown(all, dataDir));
    else process.stdout.write(`${JSON.stringify(inspection)}\n`);
    return inspection.found.length > 0 ? 1 : 0;
  },
};

async function inspect(
  dataDir: string,
  { puid, pgid, ...secret }: Pick<Config, 'secret' | 'derivedReadIds' | 'puid' | 'pgid'>,
): Promise<FolderInspection> {
  try {
    const { warning } = dropPrivileges({ dataDir, mayGive: false, puid, pgid });
    if (warning !== undefined) process.stderr.write(`${warning}.\n`);
    return await inspectFolder(dataDir, secret);
  } catch (error) {
    throw cannotBeUsed(`DATA_DIR=${dataDir}`, error);
  }
}

function shown({ feeds, notes, found }: FolderInspection, dataDir: string): string {
  const rows = found.map(({ path, problem, why }) => [problem, path, why]);
  const list = rows.length > 0 ? `${table(['PROBLEM', 'FILE', 'WHY'], rows)}\n\n` : '';
  return `${list}Feeds: ${feeds}, notes: ${notes}, not taken: ${found.length} (${resolve(dataDir)})`;
}
