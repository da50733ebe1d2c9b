/** To be imported by a backup that is to be met while it copies: no step ends as long as the file HELD_BY is there. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const nothing = new Int32Array(new SharedArrayBuffer(4));
const { statfsSync } = fs;

/** Each step asks it for the room on the disk. */
fs.statfsSync = (...args) => {
  while (fs.existsSync(process.env.HELD_BY)) Atomics.wait(nothing, 0, 0, 10);
  return statfsSync(...args);
};
syncBuiltinESMExports();
