import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readSome } from '../config.ts';
import { newKeyPair, privateKeyIn, publicKeyOf } from '../licenses/keys.ts';
import { endOf, issueLicense, Licenses } from '../licenses/licenses.ts';
import type { Environment } from '../setting.ts';
import { errorCode } from '../system-errors.ts';
import { type Command, type Options, WrongArguments } from './command.ts';

const HELP = `npm run license -- keygen [--key <file>]
npm run license -- issue --until <last day> [--feeds <n>] [--count <n>] [--key <file>]
npm run license -- check <license>

keygen makes a pair of keys: the private one in a new file that only its owner can read (license-key.pem unless --key says
otherwise), the public one on standard output, for SERVICE_LICENSE_PUBLIC_KEY.
issue writes licenses to standard output, one a line, each with an id of its own. The last day is a UTC date such as
2027-12-31; a license serves one feed at once unless --feeds says more (1000 at most). The private key comes from its file
only, which must have mode 600.
check says what a license says, if it counts by SERVICE_LICENSE_PUBLIC_KEY; "-" reads it from standard input, so it is in
no list of processes.
`;

const KEY_FILE = 'license-key.pem';
const MAX_COUNT = 10_000;

/** For the seller of licenses for a hosted instance. */
export const command: Command = {
  help: HELP,
  options: ['key', 'until', 'feeds', 'count'],
  words: [1, 2],
  run([action, text], options, env) {
    if (action === 'check' && text) return check(text, env);
    if (text === undefined && action === 'keygen') return keygen(options);
    if (text === undefined && action === 'issue') return issue(options);
    throw new WrongArguments();
  },
};

function keygen({ key: file = KEY_FILE }: Options): number {
  const { privateKey, publicKey } = newKeyPair();
  try {
    makeFile(file, privateKey);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') throw new Error(`${file} is there already: a key is never written over.`);
    throw new Error(`${file} cannot be written (${code}).`);
  }
  process.stderr.write(`The private key is in ${file}: keep it secret, and keep a copy. The public key is\n`);
  process.stdout.write(`${publicKey}\n`);
  return 0;
}

/** Makes a file that only its owner can read, on the disk when this returns; none if that fails. Throws the system's error. */
function makeFile(file: string, text: string): void {
  const fd = openSync(file, 'wx', 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } catch (error) {
    rmSync(file);
    throw error;
  } finally {
    closeSync(fd);
  }
}

function issue({ key: file = KEY_FILE, until, feeds, count }: Options): number {
  if (until === undefined) throw new WrongArguments();
  const key = privateKeyFrom(file);
  const said = { until, feeds: wholeNumber('--feeds', feeds, 1_000) };
  const length = wholeNumber('--count', count, MAX_COUNT);
  const licenses = Array.from({ length }, () => `${issueLicense(key, said)}\n`);
  if (endOf(said) <= Date.now()) throw new Error('--until must not be in the past.');
  process.stdout.write(licenses.join(''));
  process.stderr.write(`They count by the public key ${publicKeyOf(key)}.\n`);
  return 0;
}

function check(text: string, env: Environment): number {
  const { licenseKeys } = readSome(env, ['licenseKeys']);
  if (licenseKeys === undefined)
    throw new Error('SERVICE_LICENSE_PUBLIC_KEY must be set: a license is checked by it.');
  const { id, until, feeds } = new Licenses(licenseKeys).check(
    text === '-' ? readFileSync(0, 'utf8').trim() : text,
  );
  process.stdout.write(
    `This license counts.\n  id: ${id}\n  until the end of: ${until} (UTC)\n  feeds: ${feeds}\n`,
  );
  return 0;
}

function privateKeyFrom(file: string) {
  let mode: number;
  try {
    mode = statSync(file).mode;
  } catch (error) {
    throw new Error(`${file} cannot be read (${errorCode(error)}).`);
  }
  if ((mode & 0o777) !== 0o600)
    throw new Error(`${file} must be readable by its owner only: chmod 600 ${file}`);
  const key = privateKeyIn(readFileSync(file, 'utf8'));
  if (key === undefined) throw new Error(`${file} holds no Ed25519 private key in PEM form.`);
  return key;
}

function wholeNumber(option: string, text = '1', max: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw new Error(`${option} must be a whole number from 1 to ${max}.`);
  return number;
}
