/**
 * Mends the uWebSockets binding after every install. On x86-64 its parser of requests trims header values by comparing
 * signed bytes, so it takes bytes of 0x80 and above at both ends for white space, and "café" arrives as "caf". With two
 * jumps made those of an unsigned comparison, it trims only white space.
 */
const { createHash } = require('node:crypto');
const { readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const BINARY = join(__dirname, '../node_modules/uWebSockets.js/dist/bin/uws_linux_x64_127.node');
/** SHA-256 of the binary of uws-pack 20.0.8, and of what it becomes. */
const BROKEN = '8cabc918bbf9a07323e54f89a33882491080b2eb35df0607f473ccdb1f3c31af';
const MENDED = '041b4293dad68da1600f2b5eb677dbaa9d4f6f6bbf25cd19e1c2a56abc0a764d';
/** The opcodes to write, by their place in the file: jae in place of jge, and ja in place of jg. */
const OPCODES = [
  [0xf2522, 0x73],
  [0xf253c, 0x77],
];

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Mends the binary at a path and returns what was done. It puts a new file in the old one's place, because that may be
 * a hard link to a file of others, or be mapped by a running process. Any binary but the known broken one stays.
 */
function mend(path) {
  let bytes;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    // An install for another machine may come without it.
    if (error.code === 'ENOENT') return 'absent';
    throw error;
  }
  const found = sha256(bytes);
  if (found !== BROKEN) return found === MENDED ? 'mended before' : 'unknown';
  for (const [at, opcode] of OPCODES) bytes[at] = opcode;
  const fresh = `${path}.${process.pid}`;
  try {
    writeFileSync(fresh, bytes, { mode: statSync(path).mode, flag: 'wx' });
    if (sha256(readFileSync(fresh)) !== MENDED) throw new Error(`${fresh} was not written as it should be.`);
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return 'mended';
}

module.exports = { mend };

if (require.main === module && mend(BINARY) === 'unknown')
  console.warn(
    'The uWebSockets binding is not one that install/mend-binding.cjs knows, and stays as it is. ' +
      'The service warns at its start if it loses letters of header values.',
  );
