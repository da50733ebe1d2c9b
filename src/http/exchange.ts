import { Refusal } from '../refusals.ts';
import type { Answer } from './answer.ts';
import { clientOfForwardedFor, clientOfSocket, lastElement } from './client-address.ts';
import type { Preconditions } from './representation.ts';
import { newRequestId } from './request-id.ts';
import type { Route } from './router.ts';
import { type Sink, Upload, type UploadContext } from './upload.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** One entry of the table of operations. */
export interface Operation extends Route {
  /** Stable name, for logs, metrics and the API description. */
  readonly id: string;
  /** Readable by scripts of any web page (CORS). */
  readonly cors?: boolean;
  /** The answer to a request that it refused; without it JSON. */
  refuse?(refusal: Refusal, exchange: Exchange): Answer;
  handle(exchange: Exchange): Answer | Promise<Answer>;
}

export interface ExchangeContext extends UploadContext {
  /** Absolute base of links; without it the request's own host is used. */
  readonly publicUrl: string | undefined;
  /** `X-Forwarded-*` are believed. */
  readonly trustProxy: boolean;
  /** Called at the first `X-Forwarded-For` that is not believed, and then unset. Must not throw. */
  onUntrustedProxy: (() => void) | undefined;
}

/** The end of the request is not certain, so nothing after it can be trusted. */
export class BadFraming extends Refusal {
  constructor() {
    super('invalid_request', 'The length of the request body is not clear.');
  }
}

/** One request, as handlers see it. */
export class Exchange implements Preconditions {
  readonly method: string;
  /** The raw path, without the query. */
  readonly path: string;
  readonly isHead: boolean;
  /** The values of the path's parameters in order, decoded. */
  parameters: readonly string[] = [];
  readonly #context: ExchangeContext;
  readonly #res: HttpResponse;
  /** The binding's request, which is only valid until the handler first gives way. */
  #req: HttpRequest | undefined;
  #fields: Map<string, string> | undefined;
  #undecodable: Set<string> | undefined;
  #queryText: string | undefined;
  #query: URLSearchParams | undefined;
  #client: string | undefined;
  #requestId: string | undefined;
  #upload: Upload | undefined;
  #isAborted = false;

  constructor(res: HttpResponse, req: HttpRequest, context: ExchangeContext) {
    this.#res = res;
    this.#req = req;
    this.#context = context;
    const method = req.getMethod();
    this.isHead = method === 'head';
    this.method = method === 'get' ? 'GET' : method.toUpperCase();
    this.path = req.getUrl();
    if (
      method !== 'get' ||
      req.getHeader('content-length') !== '' ||
      req.getHeader('transfer-encoding') !== ''
    )
      this.#readFields(req);
  }

  /**
   * A header field by its lower-case name; several of one name are joined by a comma.
   * @param isLenient leaves out bytes that are not UTF-8
   * @throws Refusal `invalid_request` for such bytes otherwise
   */
  header(name: string, isLenient = false): string | undefined {
    if (this.#fields === undefined) return this.#req!.getHeader(name) || undefined;
    const value = this.#fields.get(name);
    if (!this.#undecodable?.has(name)) return value;
    if (isLenient) return value?.replaceAll('\ufffd', '');
    throw new Refusal('invalid_request', `The header ${name} is not valid UTF-8.`);
  }

  /** A query parameter, decoded; the first of several. An empty value is none. */
  query(name: string): string | undefined {
    if (this.queryText === '') return undefined;
    this.#query ??= new URLSearchParams(this.queryText);
    return this.#query.get(name) || undefined;
  }

  /** The raw query, without its question mark; empty where there is none. */
  get queryText(): string {
    this.#queryText ??= this.#req?.getQuery() ?? '';
    return this.#queryText;
  }

  /** Who asks, for limits: an IPv4 address or an IPv6 /64 network. */
  get client(): string {
    this.#client ??= this.#findClient();
    return this.#client;
  }

  /** Names the request in all its log lines: 16 random characters, made when first asked for. */
  get requestId(): string {
    this.#requestId ??= newRequestId();
    return this.#requestId;
  }

  /**
   * The absolute base of links, without a trailing slash.
   * @throws Refusal `invalid_request` when the request's host cannot be one
   */
  get base(): string {
    const { publicUrl, trustProxy } = this.#context;
    if (publicUrl !== undefined) return publicUrl;
    if (!trustProxy) return baseUrl(this.header('host') ?? '', 'http');
    const host = this.#forwarded('host') || this.header('host') || '';
    return baseUrl(host, this.#forwarded('proto') === 'https' ? 'https' : 'http');
  }

  /** The path of the base, without a trailing slash: mostly empty. Links of pages begin with it. */
  get root(): string {
    const { publicUrl } = this.#context;
    return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  }

  /** The base is the one of the settings, not made of what the client has sent. */
  get hasPublicUrl(): boolean {
    return this.#context.publicUrl !== undefined;
  }

  /** The length of the body where it is known beforehand, else undefined. 0 without a body. */
  get contentLength(): number | undefined {
    return this.#upload === undefined ? 0 : this.#upload.declared;
  }

  /** The client has gone; what is not begun need not be done. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /**
   * The whole body in one buffer, which may be given to a worker and is used again after the answer.
   * @param limit the most bytes the body may have
   * @param onPiece takes each piece as it arrives, as a view of that buffer, which may be changed up to its end
   * from then on. What it throws ends the reading and is thrown here.
   * @throws Refusal `too_large` (at once where `Content-Length` tells), `busy`, `timeout`; ClientGone
   */
  async body(limit: number, onPiece?: Sink): Promise<Uint8Array> {
    return this.#upload === undefined ? new Uint8Array(0) : this.#upload.collect(limit, onPiece);
  }

  /** @internal */
  get upload(): Upload | undefined {
    return this.#upload;
  }

  /** @internal Reads all there is to read of the request before the handler gives way. */
  detach(): void {
    const req = this.#req;
    if (req === undefined) return;
    if (this.#fields === undefined) this.#readFields(req);
    this.#queryText ??= req.getQuery() ?? '';
    this.#client ??= this.#findClient();
    this.#req = undefined;
  }

  /**
   * @internal Takes the body up, if there is one.
   * @throws Refusal `invalid_request` when where it ends can be understood in two ways: of two lengths the
   * binding uses the first and reads the rest as the next request (RFC 9112 §6.3)
   */
  openUpload(): void {
    const length = this.#fields?.get('content-length');
    const encoding = this.#fields?.get('transfer-encoding');
    if (encoding === undefined && length === undefined) return;
    if (encoding === undefined ? !/^\d{1,15}$/.test(length!) : encoding.toLowerCase() !== 'chunked')
      throw new BadFraming();
    if (length === '0') return;
    const declared = encoding === undefined ? Number(length) : undefined;
    this.#upload = new Upload(this.#res, declared, this.client, this.#context);
  }

  /** @internal */
  abort(): void {
    this.#isAborted = true;
    this.#upload?.abort();
  }

  /** Never throws, whatever the bytes before the proxy's own address are. */
  #findClient(): string {
    const forwarded = this.#context.trustProxy ? this.#forwarded('for') : undefined;
    return (forwarded && clientOfForwardedFor(forwarded)) ?? clientOfSocket(this.#res.getRemoteAddress());
  }

  /** What the proxy itself put into `X-Forwarded-…`: it may be in a line of its own behind the client's. */
  #forwarded(name: 'for' | 'host' | 'proto'): string | undefined {
    if (this.#fields === undefined && this.#req !== undefined) this.#readFields(this.#req);
    const list = this.#fields?.get(`x-forwarded-${name}`);
    return list === undefined ? undefined : lastElement(list);
  }

  #readFields(req: HttpRequest): void {
    const fields = new Map<string, string>();
    req.forEach((name, value) => {
      const first = fields.get(name);
      fields.set(name, first === undefined ? value : `${first}, ${value}`);
      // The binding gives the raw bytes of the first field of a name alone.
      if (value.includes('\ufffd') && (first !== undefined || !isSentReplacement(req, name))) {
        this.#undecodable ??= new Set();
        this.#undecodable.add(name);
      }
    });
    this.#fields = fields;
    this.#noticeProxy(fields);
  }

  /**
   * Only where all fields are read anyway, so that an answer from the cache costs nothing more: the proxy is noticed by
   * the request that filled the cache.
   */
  #noticeProxy(fields: ReadonlyMap<string, string>): void {
    const { onUntrustedProxy } = this.#context;
    if (onUntrustedProxy === undefined || !fields.has('x-forwarded-for')) return;
    this.#context.onUntrustedProxy = undefined;
    onUntrustedProxy();
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Whether a replacement character was really sent, not put in for bytes that are no UTF-8. */
function isSentReplacement(req: HttpRequest, name: string): boolean {
  try {
    strictUtf8.decode(Buffer.from(req.getHeader(name), 'latin1'));
    return true;
  } catch {
    return false;
  }
}

/** A host name, an IPv4 address or a bracketed IPv6 address, with or without a port (RFC 9110 §7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Nearly all requests name the same host. */
let last = { host: '', scheme: '', base: '' };

/**
 * The absolute base of links from a host and a scheme, without a trailing slash.
 * @throws Refusal `invalid_request` for what is not a host
 */
export function baseUrl(host: string, scheme: 'http' | 'https'): string {
  if (host !== last.host || scheme !== last.scheme) {
    if (!HOST.test(host)) throw new Refusal('invalid_request', 'The Host header does not name a host.');
    last = { host, scheme, base: `${scheme}://${host.toLowerCase()}` };
  }
  return last.base;
}
