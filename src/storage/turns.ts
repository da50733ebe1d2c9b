interface Queue {
  running: number;
  readonly works: Set<Promise<unknown>>;
  /** The one that runs has the key for itself. */
  alone: boolean;
  readonly waiting: { readonly alone: boolean; readonly start: () => void }[];
}

/**
 * Turns at things that have a key: works that share run side by side, a work that is alone runs by itself. First
 * come, first served, so neither kind keeps the other waiting for ever.
 */
export class Turns<K> {
  readonly #queues = new Map<K, Queue>();

  /** Runs a work beside others that share, and never beside one that is alone. */
  shared<T>(key: K, work: () => Promise<T>): Promise<T> {
    return this.#run(key, false, work);
  }

  /** Runs a work when no other runs at the key, and keeps the others off until it is done. */
  alone<T>(key: K, work: () => Promise<T>): Promise<T> {
    return this.#run(key, true, work);
  }

  /** Settles when the works that run at the key now are done, whatever comes of them. */
  async passed(key: K): Promise<void> {
    await Promise.allSettled(this.#queues.get(key)?.works ?? []);
  }

  async #run<T>(key: K, alone: boolean, work: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(key);
    if (queue.waiting.length === 0 && admits(queue, alone)) begin(queue, alone);
    else await new Promise<void>((start) => queue.waiting.push({ alone, start }));
    let running: Promise<T> | undefined;
    try {
      running = work();
      queue.works.add(running);
      return await running;
    } finally {
      if (running) queue.works.delete(running);
      this.#end(key, queue);
    }
  }

  #queueOf(key: K): Queue {
    const known = this.#queues.get(key);
    if (known) return known;
    const queue: Queue = { running: 0, works: new Set(), alone: false, waiting: [] };
    this.#queues.set(key, queue);
    return queue;
  }

  /** Counts tasks as running before they start, so that no other starts in between. */
  #end(key: K, queue: Queue): void {
    queue.running -= 1;
    for (let next = queue.waiting[0]; next && admits(queue, next.alone); next = queue.waiting[0]) {
      queue.waiting.shift();
      begin(queue, next.alone);
      next.start();
    }
    if (queue.running === 0) this.#queues.delete(key);
  }
}

function admits(queue: Queue, alone: boolean): boolean {
  return queue.running === 0 || !(alone || queue.alone);
}

function begin(queue: Queue, alone: boolean): void {
  queue.running += 1;
  queue.alone = alone;
}
