import * as fs from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './failures.ts';
import { tempName } from './names.ts';

/** What the system says where a file cannot have a second name: not on this file system, or not this file. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/**
 * Changes of the files of a folder that can be taken back: what a file was before stays under a temp name until
 * the change is durable. On a file system without hard links a replaced file cannot be had back.
 */
export class UndoableChanges {
  readonly #folder: string;
  readonly #undo: (() => void)[] = [];
  readonly #kept: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Gives a finished temp file its name, in place of a file that has it already. */
  put(temp: string, name: string): void {
    const before = this.#path(tempName());
    const replaced = this.#keep(name, before);
    if (replaced === 'kept') this.#mayComeBack(before, name);
    fs.renameSync(this.#path(temp), this.#path(name));
    if (replaced === 'nothing') this.#undo.push(() => fs.renameSync(this.#path(name), this.#path(temp)));
  }

  /** Removes a file; nothing happens when there is none. */
  remove(name: string): void {
    const before = this.#path(tempName());
    try {
      fs.renameSync(this.#path(name), before);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      throw error;
    }
    this.#mayComeBack(before, name);
  }

  /** Takes everything back, the last change first: a file put where there was none has its temp name again. */
  takeBack(): void {
    for (const undo of this.#undo.reverse()) ignoreErrors(undo);
  }

  /** The changes stand: lets go of what was before. */
  stand(): void {
    for (const path of this.#kept) ignoreErrors(() => fs.unlinkSync(path));
  }

  #mayComeBack(before: string, name: string): void {
    this.#kept.push(before);
    this.#undo.push(() => {
      fs.renameSync(before, this.#path(name));
      // Where the file has both names still, renaming one to the other leaves both.
      fs.rmSync(before, { force: true });
    });
  }

  #keep(name: string, before: string): 'kept' | 'nothing' | 'lost' {
    try {
      fs.linkSync(this.#path(name), before);
      return 'kept';
    } catch (error) {
      const code = errorCode(error) ?? '';
      if (code === 'ENOENT') return 'nothing';
      if (NO_LINKS.has(code)) return 'lost';
      throw error;
    }
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

/** Ignores failures: a temp file that cannot be removed now is removed at the next start. */
export function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // The failure that led here, if any, is the one to tell.
  }
}
