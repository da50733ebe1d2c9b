import type { Session } from '../access/sessions.ts';
import type { LiveStream } from '../http/live.ts';

const CHECK_INTERVAL_MS = 1_000;

/** Ends streams when the session that opened them ends. */
export class SessionStreams {
  readonly #sessions = new Map<LiveStream, Session>();
  #timer: NodeJS.Timeout | undefined;

  add(stream: LiveStream, session: Session): void {
    this.#sessions.set(stream, session);
    this.#timer ??= setInterval(
      () => this.#endIf(({ until }) => until <= Date.now()),
      CHECK_INTERVAL_MS,
    ).unref();
  }

  /** Call it when any stream is closed. */
  delete(stream: LiveStream): void {
    if (!this.#sessions.delete(stream) || this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** For a logout. Other processes do not learn of it: there a stream stays until its page is left. */
  end({ id }: Session): void {
    this.#endIf((session) => session.id === id);
  }

  #endIf(isOver: (session: Session) => boolean): void {
    for (const [stream, session] of this.#sessions) if (isOver(session)) stream.end();
  }
}
