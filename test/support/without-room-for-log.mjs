/** To be imported by a program that is to meet a file system without hard links, and without room for the log of a database. */
import './without-links.mjs';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { copyFileSync } = fs;
fs.copyFileSync = (from, ...rest) => {
  if (!from.endsWith('-wal')) return copyFileSync(from, ...rest);
  throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'copyfile' });
};
syncBuiltinESMExports();
