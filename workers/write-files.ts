import { parentPort, workerData } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import { STORAGE_NICE } from '../src/background.ts';
import type { Owner } from '../src/privileges.ts';
import { DurableWriter, type FileWriter } from '../src/storage/files/durable.ts';
import { FolderSync } from '../src/storage/files/folder-sync.ts';

/** What the thread is started with. */
export interface WriterData {
  readonly owner: Owner | undefined;
  /** Answers are to tell of the folder syncs made. */
  readonly tellsSyncs: boolean;
}

/** A call of one of the writer's methods. */
export type WriteOrder = {
  [M in keyof FileWriter]: {
    readonly id: number;
    readonly method: M;
    readonly args: Parameters<FileWriter[M]>;
  };
}[keyof FileWriter];

/** A system error as plain data: an `Error` would lose its code on the way between threads. */
export interface WriteFailure {
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}

/** What the method returned, or how it failed. */
type Result =
  | { readonly result: unknown; readonly failure?: undefined }
  | { readonly result?: undefined; readonly failure: WriteFailure };

export type WriteAnswer = Result & {
  readonly id: number;
  /** The folder syncs since the last answer: how many writes each was for. */
  readonly syncs: readonly number[] | undefined;
};

nice(STORAGE_NICE);
const { owner, tellsSyncs } = workerData as WriterData;
let syncs: number[] | undefined;
const noteSync = (writes: number) => {
  syncs ??= [];
  syncs.push(writes);
};
const writer = new DurableWriter(owner, new FolderSync(tellsSyncs ? noteSync : undefined));

parentPort?.on('message', async ({ id, method, args }: WriteOrder) => {
  try {
    const call = writer[method] as (...args: unknown[]) => Promise<unknown>;
    answer(id, { result: await call.apply(writer, args) });
  } catch (error) {
    const { message, code, syscall } = error as NodeJS.ErrnoException;
    answer(id, { failure: { message, code, syscall } });
  }
});

function answer(id: number, result: Result): void {
  parentPort?.postMessage({ ...result, id, syncs } satisfies WriteAnswer);
  syncs = undefined;
}
