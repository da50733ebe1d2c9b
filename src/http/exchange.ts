import { Refusal } from '../refusals.ts';
import type { Answer, LiveStream } from './answer.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { clientOfForwardedFor, clientOfSocket, lastElement } from './client-address.ts';
import { RequestFields } from './request-fields.ts';
import { type Identified, isRequestId, newRequestId, type Trace, traceOf } from './request-id.ts';
import type { Route } from './router.ts';
import { ClientGone, type Sink, Upload, type UploadContext } from './upload.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

export interface Operation extends Route {
  readonly id: string;
  /** Readable by scripts of any web page (CORS). */
  readonly cors?: boolean;
  /** Answers refusals; JSON by default. */
  refuse?(refusal: Refusal, exchange: Exchange): Answer;
  handle(exchange: Exchange): Answer | Promise<Answer>;
}

/** The result of a request, for logs and metrics. */
export interface Outcome {
  readonly request: Identified & Pick<Exchange, 'parameters'>;
  readonly operation: Operation | undefined;
  readonly method: string;
  /** 499 if the client left before its end; if the service broke it off, that of the reason. */
  readonly status: number;
  readonly ms: number;
  readonly received: number;
  /** Bytes of the answer's body; 0 if unknown in advance, or if the client did not take them all. */
  readonly bytes: number;
  readonly code: string | undefined;
  /** The reason for an internal error or a broken answer. */
  readonly error: unknown;
  readonly isLive: boolean;
}

/** Times in ms as documented; tests use shorter ones. */
export const DEFAULT_LIMITS = {
  /** How long a request may wait until there is memory for its body. */
  admission: 10_000,
  /** Over how long the speed of an upload is averaged. */
  paceWindow: 30_000,
  /** How long an upload may be slow while others wait for its memory. */
  slowUpload: 5_000,
  /** How long a client may take no bytes of its answer. */
  stalledReader: 60_000,
  /** A live answer sends no event. */
  heartbeat: 15_000,
  /** Requests run after the server stops. */
  stop: 30_000,
  /** Interval of checking the limits above. */
  tick: 1_000,
};

/** Checked about every second. */
interface Ticking {
  tick(now: number): void;
}

/** What the requests of a server have in common, and those that are open. */
export interface ServerContext extends UploadContext {
  readonly limits: typeof DEFAULT_LIMITS;
  isStopping: boolean;
  /** Absolute base of links; by default the request's own host. */
  readonly publicUrl: string | undefined;
  /** The path of `publicUrl`, without a trailing slash. */
  readonly root: string;
  readonly trustProxy: boolean;
  /** Called at the first `X-Forwarded-For` that is not believed, and then unset. Must not throw. */
  onUntrustedProxy: (() => void) | undefined;
  /** Gets every request. */
  readonly observe?: ((outcome: Outcome) => void) | undefined;
  /** Gets requests with internal errors. */
  readonly observeErrors?: ((outcome: Outcome) => void) | undefined;
  /** Answers requests without an operation; JSON by default. */
  readonly refuse?: Operation['refuse'];
  readonly answers: AnswerMemory;
  /** Requests that outlive the call of the binding's request handler. */
  readonly running: Set<Ticking>;
  readonly streams: Set<Ticking & LiveStream>;
}

/** Methods of requests that need neither a body nor its length. */
const BODILESS = ['GET', 'HEAD', 'OPTIONS'];
/** The value of `Connection` that says that no request follows on the connection. */
const CONNECTION_CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

export class Exchange {
  readonly method: string;
  /** The raw path, without the query. */
  readonly path: string;
  readonly isHead: boolean;
  /** The decoded values of the path's parameters, in order. */
  parameters: readonly string[] = [];
  /** @internal */
  upload: Upload | undefined;
  /**
   * Whether bytes behind this request are certainly the next request. False if the client says that no request follows (RFC
   * 9112 §9.6). False without a length, because the binding hides all fields behind an empty name (`: x`), and with chunks,
   * because it accepts any two bytes as the end of a chunk and reads trailers as a request.
   */
  hasCertainEnd = true;
  /** The client is gone; further work is useless. */
  isAborted = false;
  readonly #context: ServerContext;
  readonly #res: HttpResponse;
  /** The binding's request, valid until the handler first waits. */
  #req: HttpRequest | undefined;
  readonly #fields: RequestFields;
  #queryText: string | undefined;
  #query: URLSearchParams | undefined;
  #client: string | undefined;
  #requestId: string | undefined;
  #gone: AbortController | undefined;

  constructor(res: HttpResponse, req: HttpRequest, context: ServerContext) {
    this.#res = res;
    this.#req = req;
    this.#context = context;
    // As it was sent, because a proxy that keeps `DELETE` away may let `delete` pass (RFC 9110 §9.1).
    this.method = req.getCaseSensitiveMethod();
    this.isHead = this.method === 'HEAD';
    this.path = req.getUrl();
    this.#fields = new RequestFields(req);
  }

  /** See `RequestFields.value`. */
  header(name: string, isLenient = false): string | undefined {
    return this.#fields.value(name, isLenient);
  }

  /** The lower-case names of the headers. */
  get headerNames(): readonly string[] {
    return this.#fields.names;
  }

  /** The first query parameter of that name, decoded; undefined if it is empty. */
  query(name: string): string | undefined {
    if (this.queryText === '') return undefined;
    this.#query ??= new URLSearchParams(this.queryText);
    return this.#query.get(name) || undefined;
  }

  /** The raw query without its question mark. */
  get queryText(): string {
    this.#queryText ??= this.#req?.getQuery() ?? '';
    return this.#queryText;
  }

  /** The rate-limited unit: an IPv4 address or an IPv6 /64 network. */
  get client(): string {
    this.#client ??= this.#findClient();
    return this.#client;
  }

  /** The `X-Request-Id` of a trusted proxy, else 16 random characters. Stands in the answer and in the log. */
  get requestId(): string {
    this.#requestId ??= this.#proxyRequestId() ?? newRequestId();
    return this.#requestId;
  }

  /** Where the caller says that this request belongs; undefined without a valid `traceparent`. */
  get trace(): Trace | undefined {
    const traceparent = this.#fields.joined('traceparent');
    return traceparent === undefined ? undefined : traceOf(traceparent);
  }

  /**
   * The absolute base of links, without a trailing slash.
   * @throws Refusal `invalid_request` when the request's host cannot be one
   */
  get base(): string {
    const { publicUrl, trustProxy } = this.#context;
    if (publicUrl !== undefined) return publicUrl;
    if (!trustProxy) return baseUrlFromHost(this.header('host') ?? '', 'http');
    const host = this.#forwarded('host') || this.header('host') || '';
    return baseUrlFromHost(host, this.#forwarded('proto') === 'https' ? 'https' : 'http');
  }

  /** The path of the base, without a trailing slash. */
  get root(): string {
    return this.#context.root;
  }

  /** Whether the base comes from the settings, not from the client. */
  get hasPublicUrl(): boolean {
    return this.#context.publicUrl !== undefined;
  }

  /** The declared length of the body; undefined if unknown, 0 without a body. */
  get contentLength(): number | undefined {
    return this.upload === undefined ? 0 : this.upload.declared;
  }

  /**
   * The whole body in one buffer of shared memory, which is reused after the answer.
   * @param limit of the size, bytes
   * @param onPiece gets each piece as it arrives, as a view of that buffer, and may from then on change the buffer up to
   * the end of the piece. If it throws, the reading ends and the error is thrown here.
   * @throws Refusal `too_large` (at once if `Content-Length` says so), `busy`, `timeout`; ClientGone
   */
  async body(limit: number, onPiece?: Sink): Promise<Uint8Array> {
    return this.upload === undefined ? new Uint8Array(0) : this.upload.collect(limit, onPiece);
  }

  /**
   * The body piece by piece, each valid until the next is asked for; for a body that is too large for the memory. The client
   * waits while about 1 MiB is not read.
   * @param limit of the size, bytes
   * @throws Refusal as `body`; ClientGone
   */
  async *pieces(limit: number): AsyncGenerator<Uint8Array> {
    if (this.upload !== undefined) yield* this.upload.stream(limit);
  }

  /** Ends the reading of a body that still arrives: whoever reads it gets the refusal. */
  refuseBody(refusal: Refusal): void {
    this.upload?.fail(refusal);
  }

  /** Closes the connection in the midst of an answer, as if the client had left. Call it only until the body's `close`. */
  breakOff(): void {
    if (!this.isAborted) this.#res.close();
  }

  /** Aborts with `ClientGone`, for work that ends when the client leaves. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.isAborted) this.#gone.abort(new ClientGone());
    return this.#gone.signal;
  }

  /** @internal Reads everything from the binding's request before the handler waits. */
  detach(): void {
    const req = this.#req;
    if (req === undefined) return;
    this.#queryText ??= req.getQuery() ?? '';
    this.#client ??= this.#findClient();
    this.#req = undefined;
    this.#noticeProxy();
  }

  /**
   * @internal Prepares to read the body, if there is one.
   * @throws Refusal `invalid_request` if its end is ambiguous: of two lengths the binding uses the first, and takes the rest
   * for the next request (RFC 9112 §6.3)
   */
  openUpload(): void {
    const length = this.#fields.joined('content-length');
    const encoding = this.#fields.joined('transfer-encoding');
    const isLast = CONNECTION_CLOSE.test(this.#fields.joined('connection') ?? '');
    if (encoding === undefined && length === undefined) {
      this.hasCertainEnd = !isLast && BODILESS.includes(this.method);
      return;
    }
    const isLength = encoding === undefined && /^\d{1,15}$/.test(length!);
    this.hasCertainEnd = !isLast && isLength;
    if (!isLength && encoding?.toLowerCase() !== 'chunked')
      throw new Refusal('invalid_request', 'The length of the request body is not clear.');
    if (length === '0') return;
    this.upload = new Upload(this.#res, isLength ? Number(length) : undefined, this.client, this.#context);
  }

  /** @internal */
  abort(): void {
    this.isAborted = true;
    this.upload?.abort();
    this.#gone?.abort(new ClientGone());
  }

  #findClient(): string {
    const forwarded = this.#context.trustProxy ? this.#forwarded('for') : undefined;
    return (forwarded && clientOfForwardedFor(forwarded)) ?? clientOfSocket(this.#res.getRemoteAddress());
  }

  #proxyRequestId(): string | undefined {
    if (!this.#context.trustProxy) return undefined;
    const sent = this.#fields.joined('x-request-id');
    return sent !== undefined && isRequestId(sent) ? sent : undefined;
  }

  /** The proxy's own entry in `X-Forwarded-…`, which may be in a header line behind the client's. */
  #forwarded(name: 'for' | 'host' | 'proto'): string | undefined {
    const list = this.#fields.joined(`x-forwarded-${name}`);
    return list === undefined ? undefined : lastElement(list);
  }

  /** Not called for cache hits, to keep them fast; the request that filled the cache is noticed. */
  #noticeProxy(): void {
    const { onUntrustedProxy } = this.#context;
    if (onUntrustedProxy === undefined || this.#fields.joined('x-forwarded-for') === undefined) return;
    this.#context.onUntrustedProxy = undefined;
    onUntrustedProxy();
  }
}

/** A host name, an IPv4 address or a bracketed IPv6 address, with or without a port (RFC 9110 §7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** A cache of one, because nearly all requests name the same host. */
let lastBase = { host: '', scheme: '', base: '' };

/** @throws Refusal `invalid_request` for an invalid host */
export function baseUrlFromHost(host: string, scheme: 'http' | 'https'): string {
  if (host !== lastBase.host || scheme !== lastBase.scheme) {
    const base = `${scheme}://${host.toLowerCase()}`;
    // Some of that form are in no URL: `a:99999`, `1.2.3.256`, `[::::]`.
    if (!HOST.test(host) || !URL.canParse(base))
      throw new Refusal('invalid_request', 'The Host header does not name a host.');
    lastBase = { host, scheme, base };
  }
  return lastBase.base;
}
