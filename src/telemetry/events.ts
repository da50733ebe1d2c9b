import type { NoteType } from '../feeds/note-types.ts';
import type { Log } from './log.ts';

export interface Identified {
  /** Id of the request in the log; leads to no feed or client. */
  readonly requestId: string;
}

/** What the log may say of a note. */
export interface NoteFacts {
  readonly kind: NoteType;
  /** Bytes of the stored or deleted note. */
  readonly size: number;
}

/** A durable change by a request. */
export type Event =
  | { readonly name: 'feed created' | 'feed deleted' | 'license attached' | 'license detached' }
  | ({ readonly name: 'note posted' | 'note edited' | 'note deleted' } & NoteFacts);

export type RecordEvent = (event: Event, request: Identified) => void;

export function eventLog(log: Pick<Log, 'info'>): RecordEvent {
  return (event, { requestId }) => {
    const note = 'kind' in event ? { kind: event.kind, size: event.size } : {};
    log.info(event.name, { request: requestId, ...note });
  };
}
