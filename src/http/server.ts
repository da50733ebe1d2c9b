import { Refusal } from '../refusals.ts';
import type { Answer } from './answer.ts';
import { BodyMemory } from './body-memory.ts';
import { BufferPool } from './buffers.ts';
import { Exchange, type ExchangeContext, type Operation } from './exchange.ts';
import { headers } from './headers.ts';
import type { LiveStream } from './live.ts';
import { Router } from './router.ts';
import { type Outcome, Transaction, type TransactionHost } from './transaction.ts';
import { type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp, uws } from './uws.ts';

/** Times in ms; the defaults are what the documentation promises, tests use shorter ones. */
export interface Limits {
  /** How long a request waits for body memory before it is refused. */
  readonly admission: number;
  /** Over how long the pace of an upload is averaged. */
  readonly paceWindow: number;
  /** How long a reader may take nothing of its answer. */
  readonly stalledReader: number;
  /** After how long without an event a live answer gets a heartbeat. */
  readonly heartbeat: number;
  /** How long running requests may take once the server stops. */
  readonly stop: number;
  /** How often the limits above are looked at. */
  readonly tick: number;
}

const DEFAULT_LIMITS: Limits = {
  admission: 10_000,
  paceWindow: 30_000,
  stalledReader: 60_000,
  heartbeat: 15_000,
  stop: 30_000,
  tick: 1_000,
};

/** The slowest upload that is kept, on average. */
const UPLOAD_BYTES_PER_SECOND = 1024;

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly operations: readonly Operation[];
  readonly publicUrl?: string | undefined;
  readonly trustProxy: boolean;
  /** Told once when a request has `X-Forwarded-For` although no proxy is trusted. Must not throw. */
  readonly onUntrustedProxy?: (() => void) | undefined;
  /** All request bodies in memory at once, in bytes. */
  readonly bodyMemory: number;
  /** Told of every request when given; costs nothing when not. */
  readonly observe?: ((outcome: Outcome) => void) | undefined;
  /** Told of every request that met an error of our own making; costs the others nothing. */
  readonly observeErrors?: ((outcome: Outcome) => void) | undefined;
  /** The answer to a request that no operation takes; without it JSON. */
  readonly refuse?: Operation['refuse'];
  readonly limits?: Partial<Limits> | undefined;
}

/** The address cannot be listened on. */
export class ListenError extends Error {
  constructor(host: string, port: number) {
    super(`cannot listen on ${host} port ${port}: another program may use it, or it needs more rights`);
    this.name = 'ListenError';
  }
}

/** The front end: turns requests into exchanges, hands them to operations and writes their answers. */
export class HttpServer implements TransactionHost {
  readonly stalledReader: number;
  readonly heartbeat: number;
  readonly observe: ((outcome: Outcome) => void) | undefined;
  readonly observeErrors: ((outcome: Outcome) => void) | undefined;
  readonly refuse: Operation['refuse'];
  isStopping = false;
  readonly running = new Set<Transaction>();
  readonly #limits: Limits;
  readonly #router: Router<Operation>;
  readonly #context: ExchangeContext;
  readonly #app: TemplatedApp;
  readonly #streams = new Set<LiveStream>();
  readonly #timer: NodeJS.Timeout;
  #socket: ListenSocket | undefined;
  #whenIdle: (() => void) | undefined;

  private constructor(options: ServerOptions) {
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.stalledReader = this.#limits.stalledReader;
    // It is looked at once in a tick, and must not come a tick late.
    this.heartbeat = this.#limits.heartbeat - this.#limits.tick;
    this.observe = options.observe;
    this.observeErrors = options.observeErrors;
    this.refuse = options.refuse;
    this.#router = new Router(options.operations);
    this.#context = {
      publicUrl: options.publicUrl,
      trustProxy: options.trustProxy,
      onUntrustedProxy: options.trustProxy ? undefined : options.onUntrustedProxy,
      memory: new BodyMemory({ total: options.bodyMemory, patience: this.#limits.admission }),
      buffers: new BufferPool(options.bodyMemory),
      pace: { windowMs: this.#limits.paceWindow, bytesPerSecond: UPLOAD_BYTES_PER_SECOND },
    };
    this.#app = uws.App().any('/*', (res, req) => this.#onRequest(res, req));
    this.#timer = setInterval(() => this.#tick(), this.#limits.tick).unref();
  }

  /**
   * Starts a server that listens.
   * @throws ListenError when the address cannot be had
   */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const server = new HttpServer(options);
    const { host, port } = options;
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      server.#app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
    });
    if (socket === false) {
      clearInterval(server.#timer);
      throw new ListenError(host, port);
    }
    server.#socket = socket;
    return server;
  }

  /** The port it listens on. */
  get port(): number {
    return this.#socket === undefined ? 0 : uws.us_socket_local_port(this.#socket);
  }

  /** Bytes of request bodies in memory now. */
  get bodyBytes(): number {
    return this.#context.memory.used;
  }

  /** Live answers that are open now. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Takes no new connections, ends live answers, lets running requests finish within the limit, then closes everything. */
  async stop(): Promise<void> {
    if (this.isStopping) return;
    this.isStopping = true;
    if (this.#socket !== undefined) uws.us_listen_socket_close(this.#socket);
    for (const stream of this.#streams) stream.end();
    if (this.running.size > 0) await this.#idle();
    clearInterval(this.#timer);
    this.#app.close();
  }

  over(transaction: Transaction): void {
    this.running.delete(transaction);
    if (this.running.size === 0) this.#whenIdle?.();
  }

  opened(stream: LiveStream): void {
    this.#streams.add(stream);
  }

  closed(stream: LiveStream): void {
    this.#streams.delete(stream);
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#limits.stop);
      this.#whenIdle = () => {
        clearTimeout(timer);
        // The last answer is flushed when the binding is done with this turn of the loop.
        setImmediate(resolve);
      };
    });
  }

  #tick(): void {
    const now = performance.now();
    for (const transaction of this.running) transaction.tick(now);
    for (const stream of this.#streams) stream.tick(now);
  }

  /** Whatever happens in here must not throw: that would end the process. */
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

  /** The answer where no operation takes the request. */
  #unrouted(exchange: Exchange, allow: readonly string[]): Answer {
    if (allow.length === 0) throw new Refusal('not_found', 'There is nothing at this address.');
    if (exchange.method === 'OPTIONS') {
      const open = allow.filter((method) => this.#router.match(method, exchange.path).route?.cors);
      if (open.length > 0) return preflight(open);
    }
    throw new Refusal('method_not_allowed', 'This address does not take that method.', {
      headers: {
        Allow: methodList(allow),
      },
    });
  }
}

/** The answer to a CORS preflight request for what is open to every web page, such as public reads. */
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

/** Methods as a header names them: what takes GET takes HEAD. */
function methodList(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
