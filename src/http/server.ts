import { notFound, Refusal } from '../refusals.ts';
import type { Answer } from './answer.ts';
import { BodyMemory } from './body-memory.ts';
import { BufferPool } from './buffers.ts';
import { Connections, maxDescriptors } from './connections.ts';
import { Exchange, type ExchangeContext, type Operation } from './exchange.ts';
import { headers } from './headers.ts';
import { listenProblem } from './listen-problem.ts';
import type { LiveStream } from './live.ts';
import { Router } from './router.ts';
import { type Outcome, Transaction } from './transaction.ts';
import { type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp, uws } from './uws.ts';

/** Times in ms as documented; tests use shorter ones. */
const DEFAULT_LIMITS = {
  /** A request waits for body memory. */
  admission: 10_000,
  /** The speed of an upload is averaged. */
  paceWindow: 30_000,
  /** A client takes no bytes of its answer. */
  stalledReader: 60_000,
  /** A live answer sends no event. */
  heartbeat: 15_000,
  /** Requests run after the server stops. */
  stop: 30_000,
  /** Interval of checking the limits above. */
  tick: 1_000,
};

const UPLOAD_BYTES_PER_SECOND = 1024;

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly operations: readonly Operation[];
  readonly publicUrl?: string | undefined;
  readonly trustProxy: boolean;
  /** Called once if a request has `X-Forwarded-For` but no proxy is trusted. Must not throw. */
  readonly onUntrustedProxy?: (() => void) | undefined;
  /** Connections of one client, if no proxy is trusted: 0 for any number, by default half of all. */
  readonly maxConnectionsPerClient?: number | undefined;
  /** For all request bodies at once, bytes. */
  readonly bodyMemory: number;
  /** Gets every request. */
  readonly observe?: ((outcome: Outcome) => void) | undefined;
  /** Gets requests with internal errors. */
  readonly observeErrors?: ((outcome: Outcome) => void) | undefined;
  /** Answers requests without an operation; JSON by default. */
  readonly refuse?: Operation['refuse'];
  readonly limits?: Partial<typeof DEFAULT_LIMITS> | undefined;
}

/** The front end: makes exchanges of requests, calls their operations and writes the answers. */
export class HttpServer {
  readonly options: ServerOptions;
  readonly limits: typeof DEFAULT_LIMITS;
  readonly connections: Connections;
  isStopping = false;
  /** Transactions that outlive the call of the binding's request handler. */
  readonly running = new Set<Transaction>();
  readonly #router: Router<Operation>;
  readonly #context: ExchangeContext;
  readonly #app: TemplatedApp;
  readonly #streams = new Set<LiveStream>();
  readonly #timer: NodeJS.Timeout;
  #socket: ListenSocket | undefined;
  #whenIdle: (() => void) | undefined;

  private constructor(options: ServerOptions) {
    this.options = options;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#router = new Router(options.operations);
    this.#context = {
      publicUrl: options.publicUrl,
      root: options.publicUrl === undefined ? '' : new URL(options.publicUrl).pathname.replace(/\/$/, ''),
      trustProxy: options.trustProxy,
      onUntrustedProxy: options.trustProxy ? undefined : options.onUntrustedProxy,
      memory: new BodyMemory({ total: options.bodyMemory, maxWaitMs: this.limits.admission }),
      buffers: new BufferPool(options.bodyMemory),
      pace: { windowMs: this.limits.paceWindow, bytesPerSecond: UPLOAD_BYTES_PER_SECOND },
    };
    this.connections = new Connections({
      descriptors: maxDescriptors(),
      perClient: options.trustProxy ? 0 : options.maxConnectionsPerClient,
    });
    this.#app = uws
      .App()
      .filter((res, change) => this.#onConnection(res, change))
      .any('/*', (res, req) => this.#onRequest(res, req));
    this.#timer = setInterval(() => this.#tick(), this.limits.tick).unref();
  }

  /** Starts a server. Throws an error with a sentence if it cannot listen. */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const server = new HttpServer(options);
    const { host, port } = options;
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      server.#app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
    });
    if (socket === false) {
      clearInterval(server.#timer);
      throw new Error(`cannot listen on ${host} port ${port}: ${await listenProblem(host, port)}`);
    }
    server.#socket = socket;
    return server;
  }

  get port(): number {
    return this.#socket === undefined ? 0 : uws.us_socket_local_port(this.#socket);
  }

  /** Bytes of request bodies in memory now. */
  get bodyBytes(): number {
    return this.#context.memory.used;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  /** Refuses new connections, ends live answers, waits for running requests up to the limit, then closes all. */
  async stop(): Promise<void> {
    if (this.isStopping) return;
    this.isStopping = true;
    if (this.#socket !== undefined) uws.us_listen_socket_close(this.#socket);
    for (const stream of this.#streams) stream.end();
    if (this.running.size > 0) await this.#idle();
    clearInterval(this.#timer);
    this.#app.close();
  }

  onFinished(transaction: Transaction): void {
    this.running.delete(transaction);
    if (this.running.size === 0) this.#whenIdle?.();
  }

  onOpen(stream: LiveStream): void {
    this.#streams.add(stream);
  }

  onClose(stream: LiveStream): void {
    this.#streams.delete(stream);
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.limits.stop);
      this.#whenIdle = () => {
        clearTimeout(timer);
        // The binding flushes the last answer at the end of this turn of the loop.
        setImmediate(resolve);
      };
    });
  }

  /** Must not throw, like `#onRequest`. */
  #onConnection(res: HttpResponse, change: number): void {
    if (change > 0) this.connections.accept(res, this.port);
    else this.connections.release();
  }

  #tick(): void {
    const now = performance.now();
    for (const transaction of this.running) transaction.tick(now);
    for (const stream of this.#streams) stream.tick(now);
  }

  /** Must not throw, because that would end the process. */
  #onRequest(res: HttpResponse, req: HttpRequest): void {
    const startedAt = performance.now();
    const exchange = new Exchange(res, req, this.#context);
    let operation: Operation | undefined;
    let answer: Answer | Promise<Answer> | undefined;
    let failure: unknown;
    try {
      exchange.openUpload();
      const method = exchange.isHead ? 'GET' : exchange.method;
      const match = this.#router.match(method, exchange.path);
      operation = match.route;
      exchange.parameters = match.parameters;
      answer = operation === undefined ? this.#unrouted(exchange, match.allow) : operation.handle(exchange);
    } catch (cause) {
      failure = cause;
    }
    const transaction = new Transaction(this, res, exchange, operation, startedAt);
    if (answer === undefined) transaction.fail(failure);
    else transaction.run(answer);
  }

  /** Answers a request without an operation. */
  #unrouted(exchange: Exchange, allow: readonly string[]): Answer {
    if (allow.length === 0) throw notFound('address');
    if (exchange.method === 'OPTIONS') {
      const open = allow.filter((method) => this.#router.match(method, exchange.path).route?.cors);
      if (open.length > 0) return preflight(open);
    }
    throw new Refusal('method_not_allowed', 'This address does not take that method.', {
      headers: { Allow: methodList(allow) },
    });
  }
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
