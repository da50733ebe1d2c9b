import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ask } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

/** A server of a test's own, closed when the test ends. Returns its address. */
export async function serve(t: Scope, handler: Handler): Promise<string> {
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    await handler(request, response, Buffer.concat(pieces).toString());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** A WebSub hub (https://www.w3.org/TR/websub/): verifies subscribers, fetches what it is told of, and distributes it. */
export class TestHub {
  readonly url: string;
  /** Topics that it was told of, and when, ms. */
  readonly told: { topic: string; at: number }[] = [];
  /** Callbacks by topic. */
  readonly #subscribers = new Map<string, Set<string>>();
  readonly #seen = new Map<string, string>();

  private constructor(url: string) {
    this.url = url;
  }

  static async start(t: Scope): Promise<TestHub> {
    const url = await serve(t, (_, response, body) => {
      const form = new URLSearchParams(body);
      response.writeHead(202).end();
      return form.get('hub.mode') === 'publish'
        ? hub.#distribute(form.get('hub.url')!)
        : hub.#subscribe(form.get('hub.topic')!, form.get('hub.callback')!);
    });
    const hub = new TestHub(url);
    return hub;
  }

  /** The times at which it was told of a topic, ms. */
  timesOf(topic: string): number[] {
    return this.told.filter((one) => one.topic === topic).map(({ at }) => at);
  }

  async #subscribe(topic: string, callback: string): Promise<void> {
    const challenge = randomUUID();
    const asking = new URL(callback);
    const query = { 'hub.mode': 'subscribe', 'hub.topic': topic, 'hub.challenge': challenge };
    for (const [name, value] of Object.entries(query)) asking.searchParams.append(name, value);
    const { status, text } = await ask(asking.href);
    if (status !== 200 || text !== challenge) return;
    this.#seen.set(topic, (await ask(topic)).text);
    this.#subscribers.set(topic, (this.#subscribers.get(topic) ?? new Set()).add(callback));
  }

  async #distribute(topic: string): Promise<void> {
    this.told.push({ topic, at: performance.now() });
    const reply = await ask(topic).catch(() => undefined);
    // The service may have stopped.
    if (reply === undefined) return;
    const { headers, text } = reply;
    if (this.#seen.get(topic) === text) return;
    this.#seen.set(topic, text);
    for (const callback of this.#subscribers.get(topic) ?? [])
      await ask(callback, {
        method: 'POST',
        headers: {
          'content-type': headers.get('content-type')!,
          link: `<${this.url}>; rel="hub", <${topic}>; rel="self"`,
        },
        body: text,
      });
  }
}

/** Somebody who wants to be told of a feed: finds its hub in the `Link` of an address, and subscribes there. */
export class TestSubscriber {
  /** The hub, and the topic that it knows the feed by. */
  readonly links: Readonly<Record<string, string>>;
  /** What it was sent. */
  readonly received: string[] = [];
  isVerified = false;

  private constructor(links: Readonly<Record<string, string>>) {
    this.links = links;
  }

  static async start(t: Scope, address: string): Promise<TestSubscriber> {
    const subscriber = new TestSubscriber(linksOf((await ask(address)).headers.get('link')));
    const callback = await serve(t, ({ method, url }, response, body) => {
      const asked = new URL(url!, address).searchParams;
      if (method === 'GET') {
        subscriber.isVerified = asked.get('hub.topic') === subscriber.links.self;
        response.end(subscriber.isVerified ? asked.get('hub.challenge') : '');
      } else {
        subscriber.received.push(body);
        response.end();
      }
    });
    const { hub, self } = subscriber.links;
    const body = new URLSearchParams({
      'hub.mode': 'subscribe',
      'hub.topic': self!,
      'hub.callback': callback,
    });
    await ask(hub!, { method: 'POST', body });
    return subscriber;
  }
}

/** The addresses of a `Link` field by their relation; of several of one, the first. */
function linksOf(field: string | null): Readonly<Record<string, string>> {
  const links = [...(field ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url, rel]) => [rel, url]);
  return Object.fromEntries(links.reverse());
}
