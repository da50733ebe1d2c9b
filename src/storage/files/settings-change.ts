import { join } from 'node:path';
import { otherSettings, type StoredSettings, serializeSettings } from '../metadata.ts';
import type { Change } from './durable.ts';
import { SETTINGS_FILE } from './names.ts';
import { readDotFile } from './read-file.ts';

/** What has to be written for the feed in a folder to have these settings; what others keep in the file stays. */
export async function settingsChange(folder: string, settings: StoredSettings): Promise<Change> {
  const found = await readDotFile(join(folder, SETTINGS_FILE));
  const json = serializeSettings(settings, found && otherSettings(found.text));
  return { name: SETTINGS_FILE, bytes: json === undefined ? undefined : Buffer.from(json) };
}
