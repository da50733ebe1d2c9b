import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { eventually } from '../eventually.ts';
import { missing, program } from '../installed.ts';
import { tempDir } from '../service.ts';
import { CANNOT_MOUNT } from '../small-disk.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** Why no disk can be cut off here; false where one can. */
export const CANNOT_CUT: string | false =
  CANNOT_MOUNT || noLoopDevice() || missing('mkfs.ext4') || missing('python3');

function noLoopDevice(): string | false {
  return existsSync('/dev/loop-control') ? false : 'there are no loop devices here';
}

/**
 * Shuts a file system down for each line that it reads: FS_IOC_GOINGDOWN, which is `_IOR('X', 125, __u32)`, with
 * FS_GOING_FLAGS_NOLOGFLUSH. Node has no ioctl. It takes the disk away at the end of its input, so also if the test is killed.
 */
const CUTTER = `
import fcntl, os, struct, subprocess, sys
folder, device = sys.argv[1:]
for line in sys.stdin:
    fd = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))
    os.close(fd)
    print('cut', flush=True)
subprocess.run(['umount', '--lazy', folder])
subprocess.run(['losetup', '--detach', device])
`;

/** An ext4 file system whose power can be cut: what the kernel has not written to it by then is lost. */
export class CutDisk {
  /** Where it is mounted. */
  readonly dir: string;
  readonly #device: string;
  readonly #options: string;
  readonly #cutter: ChildProcess;
  #answered = Promise.resolve<unknown>(undefined);
  #failure: 'ordered' | 'complete' | undefined;

  private constructor(dir: string, device: string, options: string) {
    this.dir = dir;
    this.#device = device;
    this.#options = options;
    // Detached: what ends the test with its whole group of processes must not end it, too.
    this.#cutter = spawn(program('python3'), ['-c', CUTTER, dir, device], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
  }

  /**
   * Makes an empty one in memory, which is gone when the test ends.
   * @param size as `mkfs` takes it, for example `64m`
   * @param options of the mount
   */
  static async make(t: Scope, size: string, options = 'defaults'): Promise<CutDisk> {
    const parent = await tempDir(t);
    await chmod(parent, 0o755);
    const dir = `${parent}/disk`;
    await mkdir(dir);
    const disk = new CutDisk(dir, await deviceInMemory(dir, size), options);
    t.teardown(() => disk.#remove());
    disk.#mount();
    return disk;
  }

  /** Whether a cut was ordered, or every write fails by now; undefined while the disk works. */
  get failure(): 'ordered' | 'complete' | undefined {
    return this.#failure;
  }

  /** Orders the cut at once; settles when every write to the disk fails. */
  cut(): Promise<unknown> {
    if (this.#failure) return this.#answered;
    this.#failure = 'ordered';
    this.#cutter.stdin!.write('now\n');
    this.#answered = once(this.#cutter.stdout!, 'data').then(() => {
      this.#failure = 'complete';
    });
    return this.#answered;
  }

  /** Mounts it again, with what the cut has left; waits for the end of processes that use it. */
  async restore(): Promise<void> {
    await this.#answered;
    if (!(await eventually(() => isDone('umount', [this.dir])))) throw new Error('The disk stays in use');
    this.#mount();
    this.#failure = undefined;
  }

  /** Writes all that is on it, as a machine does that stands idle for a minute. */
  sync(): void {
    execFileSync('sync', ['--file-system', this.dir]);
  }

  #mount(): void {
    execFileSync('mount', ['-t', 'ext4', '-o', this.#options, this.#device, this.dir]);
  }

  async #remove(): Promise<void> {
    const end = once(this.#cutter, 'exit');
    this.#cutter.stdin!.end();
    await end;
  }
}

/**
 * A loop device with an empty file system; waits while other tests have all devices.
 * @param dir an empty folder
 */
async function deviceInMemory(dir: string, size: string): Promise<string> {
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', dir]);
  try {
    const image = `${dir}/image`;
    execFileSync(program('mkfs.ext4'), ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image, size]);
    await eventually(() => isDone('losetup', ['--find']));
    return execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
  } finally {
    // The memory lives as long as the device.
    execFileSync('umount', ['--lazy', dir]);
  }
}

function isDone(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
