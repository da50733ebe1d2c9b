/** To be imported by a program that is to meet a file system without hard links, such as exFAT. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

fs.linkSync = () => {
  throw Object.assign(new Error('operation not permitted'), { code: 'EPERM', syscall: 'link' });
};
syncBuiltinESMExports();
