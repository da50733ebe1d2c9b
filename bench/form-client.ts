/**
 * A process of its own that posts one form from several client addresses, on a connection for each that keeps the
 * form waiting for the answer before; its order comes as JSON, its result goes out so.
 */
import { readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';

/** How long to wait before a form is sent again whose connection was closed without an answer. */
const LOST_PAUSE_MS = 1000;

/** A form to post. */
export interface FormOrder {
  readonly url: string;
  /** File with the whole body. */
  readonly bodyFile: string;
  /** Its content type, with the boundary. */
  readonly type: string;
  /** The local address of each connection; one may be there several times. */
  readonly from: readonly string[];
  /** Every connection posts until then, and at least once. */
  readonly seconds: number;
}

/** What came of it. */
export interface FormsAnswered {
  /** How often each status was answered; `lost` counts connections closed without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The longest wait for an answer other than 503, milliseconds. */
  readonly longest: number;
  /** From the first form sent to the last answer. */
  readonly seconds: number;
}

interface Reply {
  readonly status: string;
  /** Before a form that was not taken is sent again. */
  readonly pauseMs: number;
}

if (process.argv[2]) {
  const answered = await postForms(JSON.parse(process.argv[2]));
  process.stdout.write(JSON.stringify(answered));
}

async function postForms({ url, bodyFile, type, from, seconds }: FormOrder): Promise<FormsAnswered> {
  const body = readFileSync(bodyFile);
  const statuses: Record<string, number> = {};
  let longest = 0;
  const begun = performance.now();
  const postUntilTheEnd = async (localAddress: string) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress });
    for (let isTaken = false; !isTaken || performance.now() < begun + seconds * 1000; ) {
      const start = performance.now();
      const { status, pauseMs } = await post(url, agent, type, body);
      statuses[status] = (statuses[status] ?? 0) + 1;
      isTaken = status !== '503' && status !== 'lost';
      if (isTaken) longest = Math.max(longest, performance.now() - start);
      else await setTimeout(pauseMs);
    }
    agent.destroy();
  };
  await Promise.all(from.map(postUntilTheEnd));
  return { statuses, longest, seconds: (performance.now() - begun) / 1000 };
}

/** Posts the form once. An answer counts from its head on, also where it comes before the form has been sent. */
function post(url: string, agent: Agent, type: string, body: Buffer): Promise<Reply> {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const headers = { 'content-type': type, 'content-length': body.length };
  const sent = request(url, { method: 'POST', agent, headers });
  sent.on('response', (response: IncomingMessage) => {
    const pauseMs = Number(response.headers['retry-after'] ?? 0) * 1000;
    const reply = { status: String(response.statusCode), pauseMs };
    response.resume().on('close', () => resolve(reply));
    response.on('error', () => {});
  });
  sent.on('error', () => resolve({ status: 'lost', pauseMs: LOST_PAUSE_MS }));
  sent.end(body);
  return promise;
}
