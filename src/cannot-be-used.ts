/** What the operator can do something about. */
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
 * A refusal of the system as a sentence for the operator; any other error as it is. The path that the system refused is
 * left out, for it may have the name of a feed in it.
 * @param what the beginning of the sentence: what cannot be used
 */
export function cannotBeUsed(what: string, error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!/^E[A-Z\d]+$/.test(code)) return error;
  const why = [code, REASONS[code]].filter((part) => part !== undefined).join(': ');
  return new Error(`${what} cannot be used by user ${process.geteuid?.()} (${why}).`, { cause: error });
}
