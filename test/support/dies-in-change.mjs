/**
 * To be imported by a service: a thread that gives a picture its name dies, with all that it has begun, if the file DYING_FILE
 * is there, and removes it.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { existsSync, renameSync, unlinkSync } = fs;

fs.renameSync = (from, to) => {
  renameSync(from, to);
  if (!to.endsWith('.png') || !existsSync(process.env.DYING_FILE)) return;
  unlinkSync(process.env.DYING_FILE);
  process.exit(1);
};
syncBuiltinESMExports();
