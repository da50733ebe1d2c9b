/** The `code` of an error of the system, PostgreSQL or SQLite, for example `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Failures that the operator can mend. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'it can only be read',
  EEXIST: 'not a folder',
  EISDIR: 'a folder is there',
  ENOENT: 'no such folder',
  ENOTDIR: 'not a folder',
  ENOSPC: 'the disk is full',
};

/**
 * A system error as a sentence for the operator; any other error unchanged. Leaves out the path, which may hold a feed name.
 * @param what the subject of the sentence
 */
export function cannotBeUsed(what: string, error: unknown): unknown {
  const code = errorCode(error) ?? '';
  if (!/^E[A-Z\d]+$/.test(code)) return error;
  const why = [code, REASONS[code]].filter((part) => part !== undefined).join(': ');
  return new Error(`${what} cannot be used by user ${process.geteuid?.()} (${why}).`, { cause: error });
}
