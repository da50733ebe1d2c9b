import { STATUS_CODES } from 'node:http';
import { Refusal } from '../refusals.ts';
import { type Answer, bodySize, refusalAnswer } from './answer.ts';
import type { Exchange, Operation } from './exchange.ts';
import { type LiveBody, LiveStream } from './live.ts';
import { Sending } from './sending.ts';
import type { HttpServer } from './server.ts';
import { ClientGone, type DrainLimits } from './upload.ts';
import { type HttpResponse, writeLast } from './uws.ts';

/** The binding closes connections that are idle for 10 s, so a pause at this interval resets its timer, ms. */
const KEEP_ALIVE_INTERVAL = 3_000;
/** The most bytes of a refused body to read and discard; for more the connection is closed. */
const UNREAD_BODY_MAX = 1024 * 1024;
/**
 * Lingering close after an answer: closing a socket with unread input sends a RST, which discards the answer. Large enough
 * for the biggest form.
 */
const UNTIL_QUIET: DrainLimits = { bytes: 64 * UNREAD_BODY_MAX, ms: 5_000, quietMs: 200 };
/** The binding can send a body up to this size and close the connection in one call. */
const CLOSABLE_BODY_MAX = 64 * 1024;

/** The result of a request, for logs and metrics. */
export interface Outcome {
  readonly request: Pick<Exchange, 'requestId' | 'parameters'>;
  readonly operation: Operation | undefined;
  readonly method: string;
  /** 499 if the client left before the answer. */
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

export type TransactionHost = Omit<HttpServer, 'port' | 'bodyBytes' | 'openStreams' | 'connections' | 'stop'>;

const CLIENT_CLOSED_REQUEST = 499;
/** For example `404 Not Found`, by code. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

/** A request from the return of its handler to the last byte of its answer. */
export class Transaction {
  readonly #host: TransactionHost;
  readonly #res: HttpResponse;
  readonly #exchange: Exchange;
  readonly #operation: Operation | undefined;
  readonly #startedAt: number;
  #isRunning = false;
  #sending: Sending | undefined;
  #keptAliveAt = 0;
  /** The binding times this connection out, because it was paused. */
  #isTimed = false;
  /** From the moment there is one: whatever becomes of the request, `#report` frees what it holds. */
  #answer: Answer | undefined;
  #error: unknown;

  constructor(
    host: TransactionHost,
    res: HttpResponse,
    exchange: Exchange,
    operation: Operation | undefined,
    startedAt: number,
  ) {
    this.#host = host;
    this.#res = res;
    this.#exchange = exchange;
    this.#operation = operation;
    this.#startedAt = startedAt;
  }

  /** Sends the handler's answer. Call it before the binding's request handler returns. */
  run(answer: Answer | Promise<Answer>): void {
    if (answer instanceof Promise) this.#await(answer);
    else this.#respond(answer);
  }

  /** As `run`, for an error of the handler. */
  fail(cause: unknown): void {
    this.#respond(this.#failure(cause));
  }

  /** Checks the limits for slow clients. Call it about every second. */
  tick(now: number): void {
    if (this.#exchange.isAborted) return;
    this.#exchange.upload?.checkPace(now);
    const sending = this.#sending;
    sending?.probe();
    if (sending?.isEnded) return;
    if (sending && now - sending.movedAt > this.#host.limits.stalledReader) {
      this.#res.close();
      return;
    }
    if (now - this.#keptAliveAt < KEEP_ALIVE_INTERVAL) return;
    this.#keptAliveAt = now;
    const upload = this.#exchange.upload;
    if (upload !== undefined && !upload.ended) upload.keepAlive();
    else {
      this.#isTimed = true;
      this.#res.pause();
      this.#res.resume();
    }
  }

  /** Prepares for a client that leaves or is slow, because the answer comes later. */
  #keepRunning(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Here, because the binding's request is gone once its handler has returned.
    this.#exchange.detach();
    this.#keptAliveAt = performance.now();
    this.#res.onAborted(() => this.#abort());
    this.#host.running.add(this);
  }

  async #await(promise: Promise<Answer>): Promise<void> {
    this.#keepRunning();
    this.#exchange.upload?.pauseUnlessReceiving();
    let answer: Answer;
    try {
      answer = await promise;
    } catch (cause) {
      answer = this.#failure(cause);
    }
    this.#answer = answer;
    if (this.#exchange.isAborted) this.#finish();
    else this.#res.cork(() => this.#respond(answer));
  }

  #failure(cause: unknown): Answer {
    if (cause instanceof Refusal) {
      if (cause.status >= 500) this.#error = cause.cause;
      return this.#refused(cause);
    }
    if (!(cause instanceof ClientGone)) this.#error = cause;
    return this.#refused(new Refusal('internal', 'Something went wrong on our side.'));
  }

  #refused(refusal: Refusal): Answer {
    const { refuse } = this.#operation ?? this.#host.options;
    return refuse?.(refusal, this.#exchange) ?? refusalAnswer(refusal);
  }

  /** Discards a short rest of the body. Behind a long one, or if its end is not certain, the connection ends. */
  #respond(answer: Answer): void {
    this.#answer = answer;
    const upload = this.#exchange.upload;
    upload?.discard();
    const remaining = upload?.remaining ?? 0;
    const close =
      this.#host.isStopping ||
      !this.#exchange.hasCertainEnd ||
      remaining > UNREAD_BODY_MAX ||
      (remaining > 0 && answer.status === 408);
    if (close && upload?.ended !== false) this.#afterParsing(answer);
    else this.#send(answer, close);
  }

  /**
   * Ends the connection when the binding has parsed its buffer: while this request is pending, it closes the connection on
   * bytes that follow instead of parsing them as a request (request smuggling).
   */
  #afterParsing(answer: Answer): void {
    this.#keepRunning();
    setImmediate(() => {
      if (this.#exchange.isAborted) this.#finish();
      else this.#res.cork(() => this.#send(answer, true));
    });
  }

  #send(answer: Answer, close: boolean): void {
    const res = this.#res;
    if (answer.status !== 200) res.writeStatus(STATUS_LINES[answer.status]!);
    const { headers, body } = answer;
    (this.#operation?.cors ? headers.withCors : headers).writeTo(res);
    if (answer.status >= 500) res.writeHeader('X-Request-Id', this.#exchange.requestId);
    const content = this.#exchange.isHead ? undefined : body;
    const isShort =
      content === undefined || (content instanceof Uint8Array && content.length <= CLOSABLE_BODY_MAX);
    // The binding cannot close the connection behind a long one, but the client will.
    if (close && !isShort) res.writeHeader('Connection', 'close');
    if (close && isShort) this.#sendLast(content);
    else if (body === undefined) this.#sendNothing();
    else if (content === undefined) this.#sendLength(bodySize(body));
    else if (content instanceof Uint8Array) this.#sendBytes(content);
    else if ('open' in content) this.#open(content);
    else this.#sendPieces(new Sending(res, content.size), content.chunks);
  }

  /** Sends the rest of an answer that ends its connection. */
  #sendLast(content: Uint8Array | undefined): void {
    const { upload } = this.#exchange;
    if (content !== undefined && upload?.ended !== false) {
      this.#res.end(content, true);
      this.#finish();
      return;
    }
    this.#keepRunning();
    const { status, body } = this.#answer!;
    const length = status === 204 || status === 304 ? undefined : body === undefined ? 0 : bodySize(body);
    writeLast(this.#res, length, content);
    this.#report();
    // The binding flushes the answer when it has parsed its buffer.
    const close = () => setImmediate(() => this.#close());
    if (upload?.ended === false) upload.whenEnded(UNTIL_QUIET, close);
    else close();
  }

  #close(): void {
    if (!this.#exchange.isAborted) this.#res.close();
    this.#host.onFinished(this);
  }

  #sendNothing(): void {
    const { status } = this.#answer!;
    // Any argument of `endWithoutBody` would end the process here.
    if (status === 204 || status === 304) this.#res.endWithoutBody();
    else this.#res.end('');
    this.#finish();
  }

  #sendLength(size: number | undefined): void {
    // `endWithoutBody(size)` would end the process.
    if (size !== undefined) this.#res.writeHeader('Content-Length', String(size));
    this.#res.endWithoutBody();
    this.#finish();
  }

  #sendBytes(bytes: Uint8Array): void {
    if (this.#res.tryEnd(bytes, bytes.length)[1]) this.#finish();
    else this.#sendPieces(new Sending(this.#res, bytes.length, bytes), []);
  }

  async #sendPieces(sending: Sending, chunks: Parameters<Sending['run']>[0]): Promise<void> {
    this.#keepRunning();
    this.#sending = sending;
    try {
      await sending.run(chunks);
    } catch (cause) {
      this.#error = cause;
    }
    this.#finish();
  }

  /** The stream stays open for hours, so it must not keep the exchange. */
  #open(body: LiveBody): void {
    const { requestId, parameters, upload } = this.#exchange;
    upload?.release();
    if (this.#isRunning) this.#host.onFinished(this);
    const request = { requestId, parameters, operation: this.#operation, startedAt: this.#startedAt };
    const stream = new LiveStream(this.#host, this.#res, request, body.heartbeat);
    stream.isTimed = this.#isTimed || upload !== undefined;
    stream.open(body);
  }

  #abort(): void {
    this.#exchange.abort();
    this.#sending?.abort();
  }

  #finish(): void {
    this.#sending = undefined;
    if (this.#isRunning) this.#host.onFinished(this);
    this.#report();
  }

  /** Frees what the request and its answer hold. Every request but a live one comes here, once. */
  #report(): void {
    this.#exchange.upload?.release();
    const held = this.#answer?.body;
    if (held !== undefined && 'close' in held) held.close?.();
    const { observe, observeErrors: ofErrors } = this.#host.options;
    const observeErrors = this.#error === undefined ? undefined : ofErrors;
    if (observe === undefined && observeErrors === undefined) return;
    const body = this.#exchange.isHead || this.#exchange.isAborted ? undefined : this.#answer?.body;
    const outcome: Outcome = {
      request: this.#exchange,
      operation: this.#operation,
      method: this.#exchange.method,
      status: this.#exchange.isAborted ? CLIENT_CLOSED_REQUEST : this.#answer!.status,
      ms: performance.now() - this.#startedAt,
      received: this.#exchange.upload?.received ?? 0,
      bytes: (body && bodySize(body)) ?? 0,
      code: this.#answer?.code,
      error: this.#error,
      isLive: false,
    };
    observe?.(outcome);
    observeErrors?.(outcome);
  }
}
