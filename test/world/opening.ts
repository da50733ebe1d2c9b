import { fromFailure, toFailure } from '../../src/storage/failures.ts';
import { DurableWriter, type FileWriter } from '../../src/storage/files/durable.ts';
import { type FilesHelpers, openFiles } from '../../src/storage/files/files.ts';
import type { FolderWatch, WatchNotice } from '../../src/storage/files/watch-thread.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { DataFolderWatch } from '../../workers/data-folder-watch.ts';
import type { Computer } from './computer.ts';

const SECRET = Buffer.from('a secret of tests that is long enough');

/** Opens the storage on a simulated computer. Its threads are the one thread of the test, with the way that messages have. */
export function openOn(
  computer: Computer,
  dir: string,
  { maxFeeds = 0, maxBytes = 0 } = {},
): Promise<Storage> {
  const options = {
    dir,
    secret: SECRET,
    maxFeeds,
    maxBytes,
    keepDays: 0,
    events: false,
    // So that `.marks` vouches for much within the minutes of a world.
    marksLimits: { unsaved: 4, marginMs: 1_000, spareLines: 8 },
    log: logOf(computer),
  };
  return openFiles(options, { writer: writerOn(computer, dir), watch: watchOn(computer) });
}

function logOf(computer: Computer) {
  const line = (message: string) => computer.trace(`log: ${message}`);
  return { warn: line, error: line };
}

/** The way of a message to another thread. */
function sent(computer: Computer): Promise<void> {
  return new Promise((resolve) => computer.time.after(computer.random.next() * 0.3, resolve));
}

function writerOn(computer: Computer, dir: string): FilesHelpers['writer'] {
  const writer = new DurableWriter(dir, undefined);
  const call = <M extends keyof FileWriter>(method: M) =>
    (async (...args: never[]) => {
      await sent(computer);
      try {
        const called = writer[method] as unknown as (...args: never[]) => Promise<unknown>;
        return await called.apply(writer, args);
      } catch (error) {
        throw fromFailure(toFailure(error));
      } finally {
        await sent(computer);
      }
    }) as unknown as FileWriter[M];
  return {
    change: call('change'),
    placeFolder: call('placeFolder'),
    moveAway: call('moveAway'),
    append: call('append'),
    finishUndo: call('finishUndo'),
    release: () => {},
    close: async () => {},
  };
}

function watchOn(computer: Computer): FolderWatch {
  let watch: DataFolderWatch | undefined;
  return {
    start: async (task, { onNotice }) => {
      watch = new DataFolderWatch(
        task,
        (notice: WatchNotice) => void sent(computer).then(() => onNotice(notice)),
      );
      watch.start();
    },
    order: (order) => void sent(computer).then(() => watch?.take(order)),
    close: async () => {},
  };
}
