import type { Session } from '../access/sessions.ts';
import type { LiveStream } from '../http/live.ts';

/** How often is looked for sessions that are over, in ms. */
const LOOK_INTERVAL = 1_000;

/** Ends streams when the session that opened them ends. */
export class SessionEnds {
  readonly #sessions = new Map<LiveStream, Session>();
  #looking: NodeJS.Timeout | undefined;

  add(stream: LiveStream, session: Session): void {
    this.#sessions.set(stream, session);
    this.#looking ??= setInterval(
      () => this.#endIf(({ until }) => until <= Date.now()),
      LOOK_INTERVAL,
    ).unref();
  }

  /** To be called when a stream is closed, however it was opened. */
  delete(stream: LiveStream): void {
    if (!this.#sessions.delete(stream) || this.#sessions.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Somebody has logged out. Other processes do not hear of it: there a stream stays until its page is left. */
  end({ id }: Session): void {
    this.#endIf((session) => session.id === id);
  }

  #endIf(isOver: (session: Session) => boolean): void {
    for (const [stream, session] of this.#sessions) if (isOver(session)) stream.end();
  }
}
