/** To be imported by a restore that is to be met while it checks a database: that does not end as long as the file HELD_BY is there. */
import { existsSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';

const nothing = new Int32Array(new SharedArrayBuffer(4));
const { pragma } = Database.prototype;

Database.prototype.pragma = function (source, ...options) {
  if (source.startsWith('integrity_check')) {
    writeFileSync(`${process.env.HELD_BY}.met`, '');
    while (existsSync(process.env.HELD_BY)) Atomics.wait(nothing, 0, 0, 10);
  }
  return pragma.call(this, source, ...options);
};
