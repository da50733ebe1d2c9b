import { join } from 'node:path';
import { otherSettings, type StoredSettings, serializeSettings } from '../metadata.ts';
import type { Change, Part } from './durable.ts';
import { LICENSE_FILE, PASSWORD_FILE, SETTINGS_FILE } from './names.ts';
import { readDotFile } from './read-file.ts';

/** A dot file with a text, or, without one, none. */
export function textFile(name: string, text: string | undefined): Change {
  const isPrivate = name === PASSWORD_FILE || name === LICENSE_FILE;
  return { name, bytes: text === undefined ? undefined : Buffer.from(text), private: isPrivate };
}

/** A dot file of one line, or, without one, none. */
export function lineFile(name: string, line: string | undefined): Change {
  return textFile(name, line === undefined ? undefined : `${line}\n`);
}

/** Those of the files that there are. */
export function present(files: readonly Change[]): Part[] {
  return files.filter((file): file is Part => file.bytes !== undefined);
}

/** The settings file for the feed in a folder to have these settings; what others keep in the file stays. */
export async function settingsFile(folder: string, settings: StoredSettings): Promise<Change> {
  const found = await readDotFile(join(folder, SETTINGS_FILE));
  return textFile(SETTINGS_FILE, serializeSettings(settings, found && otherSettings(found.text)));
}
