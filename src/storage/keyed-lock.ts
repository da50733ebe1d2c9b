interface Queue {
  running: number;
  readonly tasks: Set<Promise<unknown>>;
  /** An exclusive task runs. */
  isExclusive: boolean;
  readonly waiting: { readonly isExclusive: boolean; readonly start: () => void }[];
}

/** A lock for each key, shared or exclusive. First come, first served, so neither kind starves the other. */
export class KeyedLock<K> {
  readonly #queues = new Map<K, Queue>();

  /** Runs a task beside other shared ones. */
  shared<T>(key: K, task: () => Promise<T>): Promise<T> {
    return this.#run(key, false, task);
  }

  /** Runs a task when no other runs at the key, and keeps the others waiting until it is done. */
  exclusive<T>(key: K, task: () => Promise<T>): Promise<T> {
    return this.#run(key, true, task);
  }

  /** Settles when the tasks that run at the key now have settled. */
  async settled(key: K): Promise<void> {
    await Promise.allSettled(this.#queues.get(key)?.tasks ?? []);
  }

  async #run<T>(key: K, isExclusive: boolean, task: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(key);
    if (queue.waiting.length === 0 && admits(queue, isExclusive)) begin(queue, isExclusive);
    else await new Promise<void>((start) => queue.waiting.push({ isExclusive, start }));
    let running: Promise<T> | undefined;
    try {
      running = task();
      queue.tasks.add(running);
      return await running;
    } finally {
      if (running) queue.tasks.delete(running);
      this.#end(key, queue);
    }
  }

  #queueOf(key: K): Queue {
    const known = this.#queues.get(key);
    if (known) return known;
    const queue: Queue = { running: 0, tasks: new Set(), isExclusive: false, waiting: [] };
    this.#queues.set(key, queue);
    return queue;
  }

  /** Counts tasks as running before they start, so that no other starts in between. */
  #end(key: K, queue: Queue): void {
    queue.running -= 1;
    for (let next = queue.waiting[0]; next && admits(queue, next.isExclusive); next = queue.waiting[0]) {
      queue.waiting.shift();
      begin(queue, next.isExclusive);
      next.start();
    }
    if (queue.running === 0) this.#queues.delete(key);
  }
}

function admits(queue: Queue, isExclusive: boolean): boolean {
  return queue.running === 0 || !(isExclusive || queue.isExclusive);
}

function begin(queue: Queue, isExclusive: boolean): void {
  queue.running += 1;
  queue.isExclusive = isExclusive;
}
