/**
 * To be imported by a service: no password is verified as long as the file HELD_BY is there. Beside it a file `.waits`
 * says that one is waiting.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';

const argon2 = createRequire(import.meta.url)('@node-rs/argon2');
const nothing = new Int32Array(new SharedArrayBuffer(4));
const { verifySync } = argon2;

argon2.verifySync = (...args) => {
  while (fs.existsSync(process.env.HELD_BY)) {
    fs.writeFileSync(`${process.env.HELD_BY}.waits`, '');
    Atomics.wait(nothing, 0, 0, 10);
  }
  return verifySync(...args);
};
