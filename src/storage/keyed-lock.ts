interface Queue {
  /** The last exclusive task, until it has settled. */
  exclusive: Promise<unknown> | undefined;
  /** The shared tasks that came after it. */
  shared: Set<Promise<unknown>>;
}

/** A lock for each key, shared or exclusive. First come, first served, so neither kind starves the other. */
export class KeyedLock<K> {
  readonly #queues = new Map<K, Queue>();

  /** Runs a task beside other shared ones. */
  shared<T>(key: K, task: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(key);
    const run = after(queue.exclusive ? [queue.exclusive] : [], task);
    queue.shared.add(run);
    return this.#ended(key, queue, run);
  }

  /** Runs a task when no other runs at the key, and keeps the others waiting until it is done. */
  exclusive<T>(key: K, task: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(key);
    const run = after(tasksOf(queue), task);
    queue.exclusive = run;
    queue.shared = new Set();
    return this.#ended(key, queue, run);
  }

  /** Settles when the tasks that run or wait at the key now have settled. */
  async settled(key: K): Promise<void> {
    const queue = this.#queues.get(key);
    if (queue) await Promise.allSettled(tasksOf(queue));
  }

  async #ended<T>(key: K, queue: Queue, run: Promise<T>): Promise<T> {
    try {
      return await run;
    } finally {
      queue.shared.delete(run);
      if (queue.exclusive === run) queue.exclusive = undefined;
      if (!queue.exclusive && queue.shared.size === 0) this.#queues.delete(key);
    }
  }

  #queueOf(key: K): Queue {
    const queue = this.#queues.get(key) ?? { exclusive: undefined, shared: new Set() };
    this.#queues.set(key, queue);
    return queue;
  }
}

/** The tasks that an exclusive one must wait for. */
function tasksOf({ exclusive, shared }: Queue): Promise<unknown>[] {
  return exclusive ? [exclusive, ...shared] : [...shared];
}

async function after<T>(others: readonly Promise<unknown>[], task: () => Promise<T>): Promise<T> {
  if (others.length > 0) await Promise.allSettled(others);
  return task();
}
