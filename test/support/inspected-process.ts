import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { ServiceProcess } from './service-process.ts';

/** Node's option that lets `usedBy` look into the service. */
export const INSPECTABLE = '--inspect=127.0.0.1:0';

/** What a process holds. Bytes, but for `handles`. */
export interface Used {
  /** JavaScript's own of the main thread, without garbage. */
  readonly heap: number;
  /** What JavaScript holds outside its heap: buffers of all threads. */
  readonly external: number;
  /** Memory of the whole process, garbage and what the allocator keeps included. */
  readonly resident: number;
  /** Open files, sockets and the like. */
  readonly handles: number;
}

const RESIDENT_KB = /^VmRSS:\s+(\d+) kB/m;

/** Has the service collect its garbage and looks at what is left. */
export async function usedBy(service: ServiceProcess): Promise<Used> {
  const { heap, external } = await inspected(service);
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
  return {
    heap,
    external,
    resident: Number(RESIDENT_KB.exec(status)?.[1]) * 1024,
    handles: handlesOf(service),
  };
}

/** How many files and sockets a process has open. */
export function handlesOf({ pid }: ServiceProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Over Node's inspector: the only way to collect garbage in a process that was not started for it. */
async function inspected(service: ServiceProcess): Promise<{ heap: number; external: number }> {
  const address = /ws:\/\/\S+/.exec(service.errors)?.[0];
  if (address === undefined) throw new Error('the service was not started with INSPECTABLE');
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const call = async (id: number, method: string, params: object = {}) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const take = ({ data }: MessageEvent) => {
      const message = JSON.parse(data);
      if (message.id === id) resolve(message.result);
    };
    socket.addEventListener('message', take);
    socket.send(JSON.stringify({ id, method, params }));
    const result = await promise;
    socket.removeEventListener('message', take);
    return result;
  };
  await call(1, 'HeapProfiler.collectGarbage');
  const expression = 'JSON.stringify(process.memoryUsage())';
  const { result } = (await call(2, 'Runtime.evaluate', { expression })) as { result: { value: string } };
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  const { heapUsed, external } = JSON.parse(result.value);
  return { heap: heapUsed, external };
}
