import type { NoteType } from '../feeds/note-types.ts';
import type { Log } from './log.ts';

/** A request, as far as the log may know it. */
export interface Identified {
  /** Its id in the log; never an id that leads to a feed or a client. */
  readonly requestId: string;
}

/** What the log tells of a note: no name, no id, no text. */
export interface NoteFacts {
  readonly kind: NoteType;
  /** Bytes: of what is stored now, or was until it was deleted. */
  readonly size: number;
}

/** Something that a request has done for good. */
export type Event =
  | { readonly name: 'feed created' | 'feed deleted' | 'license attached' | 'license detached' }
  | ({ readonly name: 'note posted' | 'note edited' | 'note deleted' } & NoteFacts);

/** Takes an event once it is durable. */
export type RecordEvent = (event: Event, request: Identified) => void;

/** Writes events to the log, at level `info`. */
export function eventLog(log: Pick<Log, 'info'>): RecordEvent {
  return (event, { requestId }) => {
    const note = 'kind' in event ? { kind: event.kind, size: event.size } : {};
    log.info(event.name, { request: requestId, ...note });
  };
}
