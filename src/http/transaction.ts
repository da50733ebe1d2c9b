import { Refusal } from '../refusals.ts';
import { type Answer, refusalAnswer } from './answer.ts';
import { BadFraming, type Exchange, type Operation } from './exchange.ts';
import { type LiveBody, type LiveHost, LiveStream } from './live.ts';
import { BytesSending, type Sending, StreamSending } from './sending.ts';
import { statusLine } from './status.ts';
import { ClientGone, type Patience, type Upload } from './upload.ts';
import type { HttpResponse } from './uws.ts';

/** The binding closes a connection that is idle for 10 s; every this many ms we tell it that it is not. */
const KEEP_ALIVE_INTERVAL = 3_000;
/** A refused request may leave this much of its body to read; beyond it the connection is closed instead. */
const UNREAD_BODY_MAX = 1024 * 1024;
/** How long the end of a refused chunked body is waited for. */
const UNTIL_END: Patience = { bytes: UNREAD_BODY_MAX, ms: 2_000 };
/**
 * How long a client that is sending a refused body is waited for before its connection is closed: what arrives at a
 * closed one resets it, and the answer is lost on the way. Enough for the largest form; a client that waits for the
 * answer before it sends has it soon.
 */
const UNTIL_QUIET: Patience = { bytes: 64 * UNREAD_BODY_MAX, ms: 5_000, quietMs: 200 };
/** An answer up to this size can be sent with the flag that closes the connection after it. */
const CLOSABLE_BODY_MAX = 64 * 1024;

/** What happened to a request, for logs and metrics. */
export interface Outcome {
  /** Its id in the log, made when first asked for. */
  readonly request: Pick<Exchange, 'requestId'>;
  readonly operation: Operation | undefined;
  readonly method: string;
  /** 499 where the client went away before it was answered. */
  readonly status: number;
  readonly ms: number;
  /** Bytes of the request's body that arrived. */
  readonly received: number;
  /** Bytes of the answer's body; 0 where they are not known beforehand, or the client did not take them all. */
  readonly bytes: number;
  readonly code: string | undefined;
  /** Why the answer is an internal error, or was cut off. */
  readonly error: unknown;
  /** It was an answer that stays open as long as somebody listens. */
  readonly isLive: boolean;
}

/** What transactions need of their server. */
export interface TransactionHost extends LiveHost {
  readonly observeErrors: ((outcome: Outcome) => void) | undefined;
  /** The answer to a request that no operation takes; without it JSON. */
  readonly refuse: Operation['refuse'];
  /** Those that outlive the call of the binding's request handler. */
  readonly running: Set<Transaction>;
  over(transaction: Transaction): void;
}

const CLIENT_CLOSED_REQUEST = 499;

/** One request from its handler's return to the last byte of its answer. */
export class Transaction {
  readonly #host: TransactionHost;
  readonly #res: HttpResponse;
  readonly #exchange: Exchange;
  readonly #operation: Operation | undefined;
  readonly #startedAt: number;
  /** It outlives the call of the binding's request handler. */
  #isRunning = false;
  #isAborted = false;
  #sending: Sending | undefined;
  #keptAliveAt = 0;
  /** The connection was paused, and since then the binding counts its time. */
  #isTimed = false;
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

  /** Sends the handler's answer. To be called before the binding's request handler returns. */
  run(answer: Answer | Promise<Answer>): void {
    if (answer instanceof Promise) this.#await(answer);
    else this.#answerOnceBodyIsSettled(answer);
  }

  /** Sends the answer to what the handler threw, under the same condition. */
  fail(cause: unknown): void {
    const answer = this.#failure(cause);
    if (cause instanceof BadFraming) this.#answerAndClose(answer);
    else this.#answerOnceBodyIsSettled(answer);
  }

  /** Looks after slow clients. To be called about every second. */
  tick(now: number): void {
    if (this.#isAborted) return;
    this.#exchange.upload?.checkPace(now);
    const sending = this.#sending;
    if (sending !== undefined) {
      sending.probe();
      if (sending.isEnded) return;
      if (now - sending.movedAt > this.#host.stalledReader) {
        this.#res.close();
        return;
      }
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

  /** From now on the client may go away and time passes. */
  #outlive(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#keptAliveAt = performance.now();
    this.#res.onAborted(() => this.#abort());
    this.#host.running.add(this);
  }

  async #await(promise: Promise<Answer>): Promise<void> {
    this.#exchange.detach();
    this.#outlive();
    this.#exchange.upload?.pauseUnlessReceiving();
    let answer: Answer;
    try {
      answer = await promise;
    } catch (cause) {
      answer = this.#failure(cause);
    }
    if (this.#isAborted) {
      if (answer.body && 'cancel' in answer.body) answer.body.cancel?.();
      this.#over();
    } else this.#res.cork(() => this.#answerOnceBodyIsSettled(answer));
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
    const { refuse } = this.#operation ?? this.#host;
    return refuse?.(refusal, this.#exchange) ?? refusalAnswer(refusal);
  }

  /**
   * Answers after the binding has parsed what it has read: until then the request is pending, and whatever
   * the bytes behind it look like makes the binding close the connection rather than take it for a request.
   */
  #answerAndClose(answer: Answer): void {
    this.#outlive();
    setImmediate(() => {
      if (this.#isAborted) this.#over();
      else this.#res.cork(() => this.#send(answer, true));
    });
  }

  /**
   * What is left of the body decides what becomes of the connection: a little is read and thrown away, a lot
   * closes it. A chunked body does not tell, so its end is waited for a moment.
   */
  #answerOnceBodyIsSettled(answer: Answer): void {
    const upload = this.#exchange.upload;
    upload?.discard();
    if (upload === undefined || upload.ended) {
      this.#send(answer, this.#host.isStopping);
      return;
    }
    const { remaining } = upload;
    if (remaining === undefined)
      this.#afterBody(upload, UNTIL_END, () => this.#answerOnceQuiet(answer, upload));
    else if (remaining > UNREAD_BODY_MAX || answer.status === 408 || this.#host.isStopping)
      this.#answerOnceQuiet(answer, upload);
    else this.#send(answer, false);
  }

  #answerOnceQuiet(answer: Answer, upload: Upload): void {
    if (upload.ended) this.#send(answer, this.#host.isStopping);
    else
      this.#afterBody(upload, UNTIL_QUIET, () => this.#send(answer, !upload.ended || this.#host.isStopping));
  }

  #afterBody(upload: Upload, patience: Patience, then: () => void): void {
    this.#outlive();
    upload.whenEnded(patience, () => {
      if (this.#isAborted) this.#over();
      else this.#res.cork(then);
    });
  }

  #send(answer: Answer, close: boolean): void {
    const res = this.#res;
    this.#answer = answer;
    if (answer.status !== 200) res.writeStatus(statusLine(answer.status));
    const { headers, body } = answer;
    (this.#operation?.cors ? headers.withCors : headers).writeTo(res);
    if (answer.status >= 500) res.writeHeader('X-Request-Id', this.#exchange.requestId);
    if (body === undefined) this.#sendNothing(close);
    else if (this.#exchange.isHead) this.#sendLength(lengthOf(body), close);
    else if (body instanceof Uint8Array) this.#sendBytes(body, close);
    else if ('open' in body) this.#open(body);
    else this.#sendStream(new StreamSending(res, body), body.chunks);
  }

  #sendNothing(close: boolean): void {
    const { status } = this.#answer!;
    if (status === 204 || status === 304) {
      // With any argument at all, `endWithoutBody` would end the process here.
      if (close) this.#res.writeHeader('Connection', 'close');
      this.#res.endWithoutBody();
    } else this.#res.end('', close);
    this.#over();
  }

  #sendLength(size: number | undefined, close: boolean): void {
    if (close && this.#answer!.status >= 400) {
      // Of an error nobody needs the length, and only this closes the connection behind it.
      this.#res.end('', true);
      this.#over();
      return;
    }
    // `endWithoutBody(size)` would end the process.
    if (size !== undefined) this.#res.writeHeader('Content-Length', String(size));
    this.#res.endWithoutBody();
    this.#over();
  }

  #sendBytes(bytes: Uint8Array, close: boolean): void {
    if (close && bytes.length <= CLOSABLE_BODY_MAX) {
      this.#res.end(bytes, true);
      this.#over();
    } else if (this.#res.tryEnd(bytes, bytes.length)[1]) {
      this.#over();
    } else {
      this.#outlive();
      this.#sending = new BytesSending(this.#res, bytes, () => this.#over());
    }
  }

  async #sendStream(sending: StreamSending, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    this.#exchange.detach();
    this.#outlive();
    this.#sending = sending;
    try {
      await sending.run(chunks);
    } catch (cause) {
      this.#error = cause;
    }
    this.#over();
  }

  /** The stream stays open for hours, so it keeps nothing of the request. */
  #open(body: LiveBody): void {
    const { requestId, upload } = this.#exchange;
    upload?.release();
    if (this.#isRunning) this.#host.over(this);
    const request = {
      requestId,
      operation: this.#operation,
      startedAt: this.#startedAt,
      isTimed: this.#isTimed || upload !== undefined,
    };
    new LiveStream(this.#host, this.#res, request, body).open(body);
  }

  #abort(): void {
    this.#isAborted = true;
    this.#exchange.abort();
    if (this.#sending instanceof BytesSending) {
      this.#sending.abort();
      this.#over();
    } else this.#sending?.abort();
  }

  #over(): void {
    this.#sending = undefined;
    this.#exchange.upload?.release();
    if (this.#isRunning) this.#host.over(this);
    const { observe } = this.#host;
    const observeErrors = this.#error === undefined ? undefined : this.#host.observeErrors;
    if (observe === undefined && observeErrors === undefined) return;
    const body = this.#exchange.isHead || this.#isAborted ? undefined : this.#answer?.body;
    const outcome: Outcome = {
      request: this.#exchange,
      operation: this.#operation,
      method: this.#exchange.method,
      status: this.#isAborted ? CLIENT_CLOSED_REQUEST : this.#answer!.status,
      ms: performance.now() - this.#startedAt,
      received: this.#exchange.upload?.received ?? 0,
      bytes: (body && lengthOf(body)) ?? 0,
      code: this.#answer?.code,
      error: this.#error,
      isLive: false,
    };
    observe?.(outcome);
    observeErrors?.(outcome);
  }
}

/** The length of a body in bytes where it is known beforehand. */
function lengthOf(body: NonNullable<Answer['body']>): number | undefined {
  if (body instanceof Uint8Array) return body.length;
  return 'open' in body ? undefined : body.size;
}
