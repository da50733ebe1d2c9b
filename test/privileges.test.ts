import { execFileSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { dropPrivileges, makeDataFolder } from '../src/privileges.ts';

const FIXTURE = new URL('./fixtures/drop-privileges.ts', import.meta.url).pathname;
const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can drop privileges' };
const STAYED = { uid: 0, euid: 0, gid: 0 };

function became(uid: number, gid: number) {
  return { uid, euid: uid, gid, groups: [gid] };
}

/** A folder that every user can reach, with DATA_DIR beneath it owned by that user. */
function folder(t: Test, owner?: [uid: number, gid: number]) {
  const dir = mkdtempSync(join(tmpdir(), 'privileges-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  chmodSync(dir, 0o755);
  const dataDir = join(dir, 'data');
  if (owner) {
    mkdirSync(dataDir);
    chownSync(dataDir, ...owner);
  }
  return { dir, dataDir };
}

/** Runs the fixture; the program's files count as readable, wherever the tests themselves are. */
function drop(options: object, fixture = FIXTURE) {
  return JSON.parse(execFileSync(process.execPath, [fixture, JSON.stringify(options)], { encoding: 'utf8' }));
}

function owner(path: string): [number, number] {
  const { uid, gid } = lstatSync(path);
  return [uid, gid];
}

t.test('who the process becomes', asRoot, async (t) => {
  const cases: [string, [number, number] | undefined, object, object][] = [
    ['the owner of DATA_DIR', [1234, 2345], {}, became(1234, 2345)],
    ['1000 where root owns DATA_DIR', [0, 0], {}, became(1000, 1000)],
    ['1000 where there is no DATA_DIR', undefined, {}, became(1000, 1000)],
    ['PUID and PGID before the owner', [1234, 2345], { puid: 1234, pgid: 77 }, became(1234, 77)],
    ['PUID and PGID where root owns it', [0, 0], { puid: 3000, pgid: 4000 }, became(3000, 4000)],
    ['PUID alone', undefined, { puid: 3000 }, became(3000, 1000)],
    ['root where PUID says so', [0, 0], { puid: 0, pgid: 0 }, STAYED],
  ];
  for (const [name, of, options, ids] of cases) {
    const { dataDir } = folder(t, of);
    const answer = drop({ dataDir, programFiles: [], ...options });
    t.match(answer, { ids }, name);
    t.strictSame(answer.result, {}, name);
  }
});

t.test('without a DATA_DIR it becomes whom it is told to, else 1000', asRoot, async (t) => {
  t.match(drop({ programFiles: [] }), { ids: became(1000, 1000) });
  t.match(drop({ programFiles: [], puid: 3000, pgid: 4000 }), { ids: became(3000, 4000) });
});

t.test('a DATA_DIR that is made is its owner’s alone, who can reach it', asRoot, async (t) => {
  const { dir } = folder(t);
  const dataDir = join(dir, 'not', 'there');
  t.match(drop({ dataDir, programFiles: [] }), { ids: became(1000, 1000) });
  t.strictSame(owner(dataDir), [1000, 1000]);
  t.equal(lstatSync(dataDir).mode & 0o777, 0o700);
});

t.test('a DATA_DIR of root is given away with what root has in it', asRoot, async (t) => {
  const { dir, dataDir } = folder(t, [0, 0]);
  const outside = join(dir, 'outside');
  mkdirSync(join(outside, 'x'), { recursive: true });
  const feed = join(dataDir, 'feed');
  const other = join(dataDir, 'other');
  for (const path of [feed, other, join(feed, 'sub')]) mkdirSync(path);
  for (const path of [
    join(dataDir, '.secret'),
    join(feed, 'a.md'),
    join(feed, 'b.md'),
    join(feed, 'sub', 'deep'),
  ]) {
    writeFileSync(path, '');
  }
  writeFileSync(join(other, 'c.md'), '');
  chownSync(join(feed, 'b.md'), 5, 5);
  chownSync(other, 5, 5);
  symlinkSync(outside, join(dataDir, 'link'));
  symlinkSync(outside, join(feed, 'link'));
  drop({ dataDir, programFiles: [] });
  for (const path of ['.', '.secret', 'feed', 'feed/a.md', 'feed/sub', 'link', 'feed/link']) {
    t.strictSame(owner(join(dataDir, path)), [1000, 1000], path);
  }
  t.strictSame(owner(join(feed, 'b.md')), [5, 5], 'of somebody else');
  t.strictSame(owner(join(other, 'c.md')), [0, 0], "in somebody else's folder");
  t.strictSame(owner(join(feed, 'sub', 'deep')), [0, 0], 'deeper than data goes');
  for (const path of [outside, join(outside, 'x')]) t.strictSame(owner(path), [0, 0], 'behind a link');
});

t.test('a DATA_DIR of somebody else is left as it is', asRoot, async (t) => {
  const { dataDir } = folder(t, [1234, 2345]);
  writeFileSync(join(dataDir, 'x'), '');
  drop({ dataDir, programFiles: [] });
  t.strictSame(owner(dataDir), [1234, 2345]);
  t.strictSame(owner(join(dataDir, 'x')), [0, 0]);
});

t.test('stays root where the owner could not read the program', asRoot, async (t) => {
  const { dir, dataDir } = folder(t, [0, 0]);
  const home = join(dir, 'home');
  mkdirSync(join(home, 'src'), { recursive: true });
  mkdirSync(join(home, 'test', 'fixtures'), { recursive: true });
  for (const name of ['privileges.ts', 'privileges.ts'])
    copyFileSync(new URL(`../src/${name}`, import.meta.url), join(home, 'src', name));
  writeFileSync(join(home, 'package.json'), '{"type": "module"}');
  const fixture = join(home, 'test', 'fixtures', 'drop-privileges.ts');
  copyFileSync(FIXTURE, fixture);
  chmodSync(home, 0o700);
  const { ids, result } = drop({ dataDir }, fixture);
  t.match(ids, STAYED);
  t.match(result, {
    owner: { uid: 1000, gid: 1000 },
    warning:
      /^The service stays root because user 1000 cannot read .*; every file it makes is given to 1000:1000$/,
  });
  t.strictSame(owner(dataDir), [1000, 1000], 'DATA_DIR is given all the same');
});

t.test('stays root where the owner could not reach DATA_DIR', asRoot, async (t) => {
  const { dir, dataDir } = folder(t);
  chmodSync(dir, 0o700);
  t.match(drop({ dataDir, programFiles: [] }), {
    ids: STAYED,
    result: { owner: { uid: 1000 }, warning: dataDir },
  });
});

t.test('a link in the place of DATA_DIR', asRoot, async (t) => {
  const { dir, dataDir } = folder(t);
  mkdirSync(join(dir, 'real'));
  symlinkSync(join(dir, 'real'), dataDir);
  lchownSync(dataDir, 9, 9);
  t.match(drop({ dataDir, programFiles: [] }), { ids: became(1000, 1000) });
  t.strictSame(owner(join(dir, 'real')), [1000, 1000]);
});

t.test('a user who is not root stays who it is', async (t) => {
  const seat = process.getuid;
  t.teardown(() => Object.assign(process, { getuid: seat }));
  Object.assign(process, { getuid: () => 500 });
  t.strictSame(dropPrivileges({ dataDir: '/nowhere' }), {});
  t.match(dropPrivileges({ dataDir: '/nowhere', puid: 1 }), { warning: /^PUID and PGID have no effect/ });
});

t.test('a folder that is made is synced with all that lead to it', async (t) => {
  const { dir } = folder(t);
  const { fsyncSync } = fs;
  const synced: string[] = [];
  t.teardown(() => {
    fs.fsyncSync = fsyncSync;
    syncBuiltinESMExports();
  });
  fs.fsyncSync = (fd) => {
    synced.push(relative(dir, readlinkSync(`/proc/self/fd/${fd}`)));
    fsyncSync(fd);
  };
  syncBuiltinESMExports();
  makeDataFolder(join(dir, 'not', 'there', 'yet'));
  t.strictSame(synced, ['', 'not', 'not/there']);
});
