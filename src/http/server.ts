import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { inTurns } from '../in-turns.ts';
import { notFound, Refusal } from '../refusals.ts';
import type { Answer } from './answer.ts';
import { AnswerMemory } from './answer-memory.ts';
import { BodyMemory } from './body-memory.ts';
import { BufferPool } from './buffers.ts';
import { Connections, maxDescriptors } from './connections.ts';
import { DEFAULT_LIMITS, Exchange, type Operation, type ServerContext } from './exchange.ts';
import { headers } from './headers.ts';
import { portProblem } from './ports.ts';
import { ResponseWriter } from './response-writer.ts';
import { Router } from './router.ts';
import { ClientGone } from './upload.ts';
import { type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp, uws } from './uws.ts';

const ANSWER_MEMORY_BYTES = 128 * 1024 * 1024;
const UPLOAD_BYTES_PER_SECOND = 1024;
/** Interval of looking whether the last requests have ended, ms. */
const STOP_INTERVAL = 10;
/** The option of `listen` with which several sockets have one port (SO_REUSEPORT). */
const SHARED_PORT = 0;
/** A turn of the event loop that takes less is quiet, ms. */
const QUIET_TURN = 0.05;
/** How long a drain waits for a quiet turn, ms. */
const QUIET_LIMIT = 1_000;
/** How long requests are handled in a turn of the event loop as they come, ms. */
const LONG_TURN = 20;
/** Streams that get a heartbeat in one turn of the event loop: 4 ms. */
const STREAMS_AT_ONCE = 500;

export interface ServerOptions
  extends Pick<ServerContext, 'observe' | 'observeErrors' | 'refuse' | 'trustProxy'> {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly operations: readonly Operation[];
  readonly publicUrl?: string | undefined;
  /** Called once if a request has `X-Forwarded-For` but no proxy is trusted. Must not throw. */
  readonly onUntrustedProxy?: (() => void) | undefined;
  /** Connections of one client, if no proxy is trusted: 0 for any number, by default half of all. */
  readonly maxConnectionsPerClient?: number | undefined;
  /** How many processes listen on the port, this one included; 1 if nobody else may. */
  readonly processes?: number;
  /** For all request bodies at once, bytes. */
  readonly bodyMemory: number;
  /** For all answers at once whose clients are slow to take them, bytes. */
  readonly answerMemory?: number;
  readonly limits?: Partial<ServerContext['limits']> | undefined;
}

/** The front end: makes exchanges of requests, calls their operations and writes the answers. */
export class HttpServer {
  readonly connections: Connections;
  readonly #context: ServerContext;
  readonly #router: Router<Operation>;
  readonly #app: TemplatedApp;
  readonly #timer: NodeJS.Timeout;
  #socket: ListenSocket | undefined;
  #isClosing = false;
  /** When the first request of this turn of the event loop came, in `performance.now()` time. */
  #turnBegan: number | undefined;

  private constructor(options: ServerOptions) {
    const { publicUrl, trustProxy, bodyMemory, observe, observeErrors, refuse } = options;
    const { answerMemory = ANSWER_MEMORY_BYTES } = options;
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#router = new Router(options.operations);
    this.#context = {
      ...{ limits, isStopping: false, observe, observeErrors, refuse, publicUrl, trustProxy },
      root: publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, ''),
      onUntrustedProxy: trustProxy ? undefined : options.onUntrustedProxy,
      memory: new BodyMemory({ total: bodyMemory, maxWaitMs: limits.admission }),
      buffers: new BufferPool(bodyMemory),
      answers: new AnswerMemory(answerMemory),
      pace: {
        windowMs: limits.paceWindow,
        graceMs: limits.slowUpload,
        bytesPerSecond: UPLOAD_BYTES_PER_SECOND,
      },
      running: new Set(),
      streams: new Set(),
    };
    this.connections = new Connections({
      descriptors: maxDescriptors(),
      processes: options.processes,
      perClient: trustProxy ? 0 : options.maxConnectionsPerClient,
    });
    this.#app = uws
      .App()
      .filter((res, change) => this.#onConnection(res, change))
      .any('/*', (res, req) => this.#onRequest(res, req));
    this.#timer = setInterval(() => void this.#tick(), limits.tick).unref();
  }

  /** Starts a server. Throws an error with a sentence if it cannot listen. */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const server = new HttpServer(options);
    const { host, port, processes = 1 } = options;
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      server.#app.listen(host, port, processes > 1 ? SHARED_PORT : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
    });
    if (socket === false) {
      clearInterval(server.#timer);
      // Tries it with Node, because the HTTP library does not say why it failed.
      const problem = await portProblem(host, port);
      throw new Error(problem ?? `cannot listen on ${host} port ${port}: another program used it until now`);
    }
    server.#socket = socket;
    return server;
  }

  get port(): number {
    return this.#socket === undefined ? 0 : uws.us_socket_local_port(this.#socket);
  }

  get isStopping(): boolean {
    return this.#context.isStopping;
  }

  /** The memory of request bodies. */
  get bodies(): BodyMemory {
    return this.#context.memory;
  }

  /** Requests that wait for their handler, or for a slow client. */
  get openRequests(): number {
    return this.#context.running.size;
  }

  get openStreams(): number {
    return this.#context.streams.size;
  }

  /**
   * Leaves new connections to the other processes of the port, and ends each of its own behind its next answer. Waits until
   * all have ended, up to the limit for running requests.
   */
  async drain(): Promise<void> {
    this.#context.isStopping = true;
    await quietTurn();
    this.#leave();
    const end = performance.now() + this.#context.limits.stop;
    while (this.connections.open > 0 && performance.now() < end) await wait(STOP_INTERVAL);
  }

  /** Refuses new connections, ends live answers, waits for running requests up to the limit, then closes all. */
  async stop(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const { running, limits } = this.#context;
    this.#context.isStopping = true;
    this.#leave();
    const end = performance.now() + limits.stop;
    // The binding flushes the last answer at the end of its turn of the loop, so before the wait is over.
    while (running.size > 0 && performance.now() < end) await wait(STOP_INTERVAL);
    clearInterval(this.#timer);
    this.#app.close();
  }

  #leave(): void {
    if (this.#socket !== undefined) uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
    for (const stream of this.#context.streams) stream.end();
  }

  /** Must not throw, like `#onRequest`. */
  #onConnection(res: HttpResponse, change: number): void {
    if (change > 0) this.connections.accept(res, this.port);
    else this.connections.release();
  }

  async #tick(): Promise<void> {
    const now = performance.now();
    this.bodies.makeRoom(now);
    for (const request of this.#context.running) request.tick(now);
    // Streams that were sent an event at the same time get their heartbeats at the same time.
    await inTurns(this.#context.streams, STREAMS_AT_ONCE, (stream) => stream.tick(now));
  }

  /** Must not throw, because that would end the process. */
  #onRequest(res: HttpResponse, req: HttpRequest): void {
    const startedAt = performance.now();
    const exchange = new Exchange(res, req, this.#context);
    let operation: Operation | undefined;
    let handle: () => Answer | Promise<Answer>;
    try {
      exchange.openUpload();
      const method = exchange.isHead ? 'GET' : exchange.method;
      const match = this.#router.match(method, exchange.path);
      operation = match.route;
      exchange.parameters = match.parameters;
      handle = () =>
        match.route === undefined ? this.#unrouted(exchange, match.allow) : match.route.handle(exchange);
    } catch (cause) {
      handle = () => {
        throw cause;
      };
    }
    const response = new ResponseWriter(this.#context, res, exchange, operation, startedAt);
    if (this.#isLongTurn(startedAt)) response.run(inNextTurn(exchange, handle));
    else response.respond(handle);
  }

  /**
   * Whether this turn of the event loop has had enough requests: a client may send thousands at once. The binding closes a
   * connection on bytes behind a request that is not answered yet, so only those of other clients come to the next turn.
   */
  #isLongTurn(now: number): boolean {
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now;
      setImmediate(() => {
        this.#turnBegan = undefined;
      });
    }
    return now - this.#turnBegan > LONG_TURN;
  }

  /** Answers a request without an operation. */
  #unrouted(exchange: Exchange, allow: readonly string[]): Answer {
    if (allow.length === 0) throw notFound('address');
    if (exchange.method === 'OPTIONS') {
      const open = allow.filter((method) => this.#router.match(method, exchange.path).route?.cors);
      if (open.length > 0) return preflight(open);
    }
    const methods = methodList(allow);
    throw new Refusal('method_not_allowed', `This address takes no other methods than ${methods}.`, {
      headers: { Allow: methods },
    });
  }
}

/** Throws ClientGone if the client has left by then: a request that gets no answer must change nothing. */
async function inNextTurn<T>(exchange: Exchange, handle: () => T | Promise<T>): Promise<T> {
  await turn();
  if (exchange.isAborted) throw new ClientGone();
  return handle();
}

/** Answers a CORS preflight for methods that every web page may call. */
function preflight(methods: readonly string[]): Answer {
  return {
    status: 204,
    headers: headers({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': methodList(methods),
      'Access-Control-Allow-Headers': '*',
      'Access-Control-Max-Age': '86400',
    }),
  };
}

/** The value of `Allow`; every GET has a HEAD. */
function methodList(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

/**
 * Settles right after a quiet turn of the event loop, in which the socket had no new connection to accept. Closing the socket
 * then resets hardly any: the kernel resets those that still wait to be accepted.
 */
async function quietTurn(): Promise<void> {
  const end = performance.now() + QUIET_LIMIT;
  for (let last = Number.NEGATIVE_INFINITY, now = 0; now < end; last = now) {
    await turn();
    now = performance.now();
    if (now - last < QUIET_TURN) return;
  }
}
