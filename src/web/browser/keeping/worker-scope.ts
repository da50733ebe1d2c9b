/** What the service worker uses of its global scope: the types of pages and those of workers cannot be had together. */

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface InstallEvent extends ExtendableEvent {
  /** Not in all browsers; https://w3c.github.io/ServiceWorker/#register-router-method */
  addRoutes?(rule: { condition: { requestMethod: string }; source: 'network' }): Promise<void>;
}

export interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

interface ExtendableMessageEvent extends ExtendableEvent {
  readonly data: unknown;
}

interface WorkerEvents {
  install: InstallEvent;
  activate: ExtendableEvent;
  fetch: FetchEvent;
  message: ExtendableMessageEvent;
  sync: ExtendableEvent;
}

interface WorkerScope {
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener<K extends keyof WorkerEvents>(type: K, listener: (event: WorkerEvents[K]) => void): void;
}

export const worker = globalThis as unknown as WorkerScope;
