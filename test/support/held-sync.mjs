/**
 * To be imported by a service: SYNC_FILE, in JSON, says what a sync of a folder does. With `order` "hold" the sync waits until
 * it says something else, with "fail" it fails; without the file, or while the file at `path`, if given, still has the `text`,
 * it is the system's.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { fsync } = fs;
const { existsSync, readFileSync } = fs;

function orderNow() {
  if (!existsSync(process.env.SYNC_FILE)) return undefined;
  const { order, path, text } = JSON.parse(readFileSync(process.env.SYNC_FILE, 'utf8'));
  return path && existsSync(path) && readFileSync(path, 'utf8') === text ? undefined : order;
}

fs.fsync = (fd, done) => {
  const order = orderNow();
  if (order === 'hold') setTimeout(() => fs.fsync(fd, done), 5);
  else if (order === 'fail') done(Object.assign(new Error('broken'), { code: 'EIO', syscall: 'fsync' }));
  else fsync(fd, done);
};
syncBuiltinESMExports();
