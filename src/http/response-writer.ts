import { STATUS_CODES } from 'node:http';
import { Refusal } from '../refusals.ts';
import { type Answer, bodySize, type KeptBody, type LiveBody, refusalAnswer } from './answer.ts';
import type { SlowReader } from './answer-memory.ts';
import { BodyWriter } from './body-writer.ts';
import type { Exchange, Operation, Outcome, ServerContext } from './exchange.ts';
import { LiveWriter } from './live-writer.ts';
import { ClientGone, LINGER_MS } from './upload.ts';
import { type HttpResponse, writeLast } from './uws.ts';

/** The binding closes connections that are idle for 10 s, so a pause at this interval resets its timer, ms. */
const KEEP_ALIVE_INTERVAL = 3_000;
/** The most bytes of a refused body to read and discard; for more the connection is closed. */
const UNREAD_BODY_MAX = 1024 * 1024;
/** The binding can send a body up to this size and close the connection in one call. */
const SHORT_MAX = 64 * 1024;
const CLIENT_CLOSED_REQUEST = 499;
/** For example `404 Not Found`, by code. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

/** Answers a request: from the return of its handler to the last byte handed to the system. */
export class ResponseWriter implements SlowReader {
  readonly #context: ServerContext;
  readonly #res: HttpResponse;
  readonly #exchange: Exchange;
  readonly #operation: Operation | undefined;
  readonly #startedAt: number;
  #isRunning = false;
  #body: BodyWriter | undefined;
  #keptAliveAt = 0;
  /** The binding times this connection out, because it was paused. */
  #isTimed = false;
  /** From the moment there is one: whatever becomes of the request, `#report` frees what it holds. */
  #answer: Answer | undefined;
  #error: unknown;
  /** Why the service broke the answer off. */
  #brokenBy: Refusal | undefined;
  /** What the rest of the answer is in, while its client is slow. */
  #held: ArrayBufferLike | undefined;

  constructor(
    context: ServerContext,
    res: HttpResponse,
    exchange: Exchange,
    operation: Operation | undefined,
    startedAt: number,
  ) {
    this.#context = context;
    this.#res = res;
    this.#exchange = exchange;
    this.#operation = operation;
    this.#startedAt = startedAt;
  }

  /** Sends the answer of a handler, or of its error. Call it before the binding's request handler returns. */
  respond(handle: () => Answer | Promise<Answer>): void {
    let answer: Answer | Promise<Answer>;
    try {
      answer = handle();
    } catch (cause) {
      answer = this.#failure(cause);
    }
    this.run(answer);
  }

  /** As `respond`, for what the handler has returned. */
  run(answer: Answer | Promise<Answer>): void {
    if (answer instanceof Promise) this.#await(answer);
    else this.#respond(answer);
  }

  /** Checks the limits for slow clients. Call it about every second. */
  tick(now: number): void {
    const { isAborted, upload } = this.#exchange;
    if (isAborted) return;
    upload?.checkPace(now);
    const body = this.#body;
    body?.probe();
    if (body?.isEnded) return;
    if (body && body.stalledFor(now) > this.#context.limits.stalledReader) {
      this.#res.close();
      return;
    }
    if (now - this.#keptAliveAt < KEEP_ALIVE_INTERVAL) return;
    this.#keptAliveAt = now;
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
    this.#res.onAborted(() => {
      this.#exchange.abort();
      this.#body?.abort();
    });
    this.#context.running.add(this);
  }

  async #await(promise: Promise<Answer>): Promise<void> {
    this.#keepRunning();
    this.#exchange.upload?.pauseUnlessReceiving();
    const answer = await promise.catch((cause) => this.#failure(cause));
    this.#answer = answer;
    if (this.#exchange.isAborted) this.#finish();
    else this.#res.cork(() => this.#respond(answer));
  }

  #failure(cause: unknown): Answer {
    this.#error = faultOf(cause);
    const refusal = asRefusal(cause);
    const { refuse } = this.#operation ?? this.#context;
    return refuse?.(refusal, this.#exchange) ?? refusalAnswer(refusal);
  }

  /** Discards a short rest of the body. Behind a long one, or if its end is not certain, the connection ends. */
  #respond(answer: Answer): void {
    this.#answer = answer;
    const upload = this.#exchange.upload;
    upload?.discard();
    const remaining = upload?.remaining ?? 0;
    const close =
      this.#context.isStopping ||
      !this.#exchange.hasCertainEnd ||
      remaining > UNREAD_BODY_MAX ||
      (remaining > 0 && answer.status === 408);
    if (close && upload?.ended !== false) this.#afterParsing(answer);
    else if (close && !isShort(this.#content)) this.#afterBody(answer);
    else this.#send(answer, close);
  }

  /** The binding closes a connection that its client ends right behind a long answer, with what is unread of the body. */
  #afterBody(answer: Answer): void {
    this.#keepRunning();
    this.#exchange.upload!.whenEnded(() => this.#afterParsing(answer), LINGER_MS);
  }

  /** What is sent as a body. */
  get #content(): Answer['body'] {
    return this.#exchange.isHead ? undefined : this.#answer?.body;
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

  #send({ status, headers }: Answer, close: boolean): void {
    const res = this.#res;
    if (status !== 200) res.writeStatus(STATUS_LINES[status]!);
    (this.#operation?.cors ? headers.withCors : headers).writeTo(res);
    res.writeHeader('X-Request-Id', this.#exchange.requestId);
    const content = this.#content;
    // The binding cannot close the connection behind a long one, but the client will.
    if (close && !isShort(content)) res.writeHeader('Connection', 'close');
    if (close && isShort(content)) this.#sendLast(content);
    else if (content === undefined) this.#sendHead();
    else if (content instanceof Uint8Array) this.#sendBytes(content);
    else if ('from' in content) this.#sendKept(content);
    else if ('open' in content) this.#open(content);
    else this.#sendBody(new BodyWriter(res, content.size), content.chunks);
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
    const { body } = this.#answer!;
    const length = this.#hasNoContent ? undefined : body === undefined ? 0 : bodySize(body);
    writeLast(this.#res, length, content);
    this.#report();
    // The binding flushes the answer when it has parsed its buffer.
    const close = () =>
      setImmediate(() => {
        if (!this.#exchange.isAborted) this.#res.close();
        this.#context.running.delete(this);
      });
    if (upload?.ended === false) upload.whenEnded(close);
    else close();
  }

  /** The answer to a HEAD, or one without a body. An argument of `endWithoutBody` would end the process. */
  #sendHead(): void {
    const size = this.#size;
    if (size !== undefined) this.#res.writeHeader('Content-Length', String(size));
    if (this.#answer?.body === undefined && !this.#hasNoContent) this.#res.end('');
    else this.#res.endWithoutBody();
    this.#finish();
  }

  get #hasNoContent(): boolean {
    const { status } = this.#answer!;
    return status === 204 || status === 304;
  }

  /** Of the body, in bytes; undefined without a body, and if unknown in advance. */
  get #size(): number | undefined {
    const body = this.#answer?.body;
    return body && bodySize(body);
  }

  #sendBytes(bytes: Uint8Array): void {
    const res = this.#res;
    if (res.tryEnd(bytes, bytes.length)[1]) {
      this.#finish();
      return;
    }
    this.#sendBody(new BodyWriter(res, bytes.length, bytes.subarray(res.getWriteOffset())), []);
    this.#held = bytes.buffer;
    this.#context.answers.hold(this.#held, this);
  }

  get client(): string {
    return this.#exchange.client;
  }

  giveWay(reason: Refusal): void {
    // Not at once, because another answer may be in the midst of being written.
    setImmediate(() => {
      if (!this.#body) return;
      this.#brokenBy = reason;
      this.#res.close();
    });
  }

  /** A slow reader holds only a piece, because each of many may read another body. */
  #sendKept(body: KeptBody): void {
    const res = this.#res;
    const bytes = body.bytes();
    if (bytes !== undefined && res.tryEnd(bytes, body.size)[1]) this.#finish();
    else this.#sendBody(new BodyWriter(res, body.size), body.from(res.getWriteOffset()));
  }

  async #sendBody(body: BodyWriter, chunks: Parameters<BodyWriter['run']>[0]): Promise<void> {
    this.#keepRunning();
    this.#body = body;
    try {
      await body.run(chunks);
    } catch (cause) {
      // A file or feed that was removed meanwhile breaks the answer off; that is no fault of the service.
      this.#error = faultOf(cause);
      const refusal = asRefusal(cause);
      if (refusal.status >= 500 && !(cause instanceof ClientGone)) this.#brokenBy = refusal;
    }
    this.#finish();
  }

  /** The stream stays open for hours, so it must not keep the exchange. */
  #open(body: LiveBody): void {
    const { requestId, trace, parameters, upload } = this.#exchange;
    const { observe } = this.#context;
    const [operation, startedAt] = [this.#operation, this.#startedAt];
    upload?.release();
    this.#context.running.delete(this);
    const stream = new LiveWriter(this.#context, this.#res, body.heartbeat, () =>
      observe?.({
        request: { requestId, trace, parameters },
        operation,
        method: 'GET',
        status: 200,
        ms: performance.now() - startedAt,
        received: 0,
        bytes: 0,
        code: undefined,
        error: undefined,
        isLive: true,
      }),
    );
    stream.isTimed = this.#isTimed || upload !== undefined;
    stream.open(body);
  }

  #finish(): void {
    this.#body = undefined;
    if (this.#held) this.#context.answers.release(this.#held, this);
    if (this.#isRunning) this.#context.running.delete(this);
    this.#report();
  }

  /** Frees what the request and its answer hold. Every request but a live one comes here, once. */
  #report(): void {
    const { upload, isHead, isAborted, method } = this.#exchange;
    upload?.release();
    const held = this.#answer?.body;
    if (held !== undefined && 'close' in held) held.close?.();
    const { observe, observeErrors } = this.#context;
    const isFailed = this.#error !== undefined && observeErrors !== undefined;
    if (observe === undefined && !isFailed) return;
    const { status, code } = this.#brokenBy ?? this.#answer!;
    const outcome: Outcome = {
      request: this.#exchange,
      operation: this.#operation,
      method,
      status: isAborted && !this.#brokenBy ? CLIENT_CLOSED_REQUEST : status,
      ms: performance.now() - this.#startedAt,
      received: upload?.received ?? 0,
      bytes: isHead || isAborted ? 0 : (this.#size ?? 0),
      code,
      error: this.#error,
      isLive: false,
    };
    observe?.(outcome);
    if (isFailed) observeErrors(outcome);
  }
}

function isShort(content: Answer['body']): content is Uint8Array | undefined {
  return content === undefined || (content instanceof Uint8Array && content.length <= SHORT_MAX);
}

function asRefusal(cause: unknown): Refusal {
  return cause instanceof Refusal ? cause : new Refusal('internal', 'Something went wrong on our side.');
}

/** What went wrong on our side; undefined if nothing did. */
function faultOf(cause: unknown): unknown {
  if (cause instanceof Refusal) return cause.status < 500 ? undefined : cause.cause;
  return cause instanceof ClientGone ? undefined : cause;
}
