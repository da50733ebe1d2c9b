import { join } from 'node:path';
import type { FileWriter } from './durable.ts';
import { MOVE_FILE } from './names.ts';
import { readDotFile } from './read-file.ts';

/** What the move into a data folder has left there to be known by; undefined where none is under way. */
export async function readMoveMark(dir: string): Promise<string | undefined> {
  return (await readDotFile(join(dir, MOVE_FILE)))?.text.trim();
}

/** Leaves a mark, or, with undefined, takes it away. */
export async function writeMoveMark(
  writer: Pick<FileWriter, 'change'>,
  dir: string,
  mark: string | undefined,
): Promise<void> {
  const bytes = mark === undefined ? undefined : Buffer.from(`${mark}\n`);
  await writer.change(dir, [{ name: MOVE_FILE, bytes }]);
}
