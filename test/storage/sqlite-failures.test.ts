import t from 'tap';
import { asRefusal } from '../../src/storage/sqlite/failures.ts';

/** What failures mean, by their codes; undefined: they are no failures of the medium. */
const MEANINGS = {
  SQLITE_FULL: 'storage_full',
  ENOSPC: 'storage_full',
  EDQUOT: 'storage_full',
  EFBIG: 'storage_full',
  SQLITE_IOERR_WRITE: 'store_unavailable',
  SQLITE_IOERR_SHMSIZE: 'store_unavailable',
  SQLITE_BUSY: 'store_unavailable',
  SQLITE_NOTADB: 'store_unavailable',
  EIO: 'store_unavailable',
  EROFS: 'store_unavailable',
  SQLITE_CONSTRAINT: undefined,
  ERR_INVALID_ARG_TYPE: undefined,
};

for (const [code, meaning] of Object.entries(MEANINGS))
  t.test(code, async (t) => {
    const error = Object.assign(new Error('failed'), { code });
    const refusal = asRefusal(error) as { code: string };
    t.equal(refusal.code, meaning ?? code);
    if (meaning === undefined) t.equal(refusal, error);
  });
