import { parentPort, workerData } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import type { WatchMessage, WatchTask } from '../src/storage/files/watch-thread.ts';
import { BACKGROUND_NICE } from '../src/task-limit.ts';
import { DataFolderWatch } from './data-folder-watch.ts';

const say = (message: WatchMessage) => parentPort!.postMessage(message);

nice(BACKGROUND_NICE);
const watch = new DataFolderWatch(workerData as WatchTask, say);
parentPort!.on('message', (order) => watch.take(order));
watch.start();
say({ kind: 'ready' });
