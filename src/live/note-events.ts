import type { NoteId } from '../feeds/names.ts';
import type { Json } from '../schemas.ts';
import type { Arrival } from '../storage/arrivals.ts';

/** Server-sent events (HTML, "Server-sent events"), or a JSON object a line. */
export type StreamFormat = 'events' | 'lines';

/** What a stream of notes tells. */
export type NoteEvent =
  | { readonly event: 'note' | 'edited'; readonly id: NoteId; readonly note: Json<'Note'> }
  | { readonly event: 'gone'; readonly id: NoteId }
  | { readonly event: 'reset' };

/** Stands for the id of a note before all others: what a client has of a feed without notes. */
export const BEGINNING = '0';

/** What a stream sends if there is nothing to tell. */
export const HEARTBEATS: Readonly<Record<StreamFormat, Uint8Array>> = {
  events: Buffer.from(':\n\n'),
  lines: Buffer.from('\n'),
};

export function encodeEvent(format: StreamFormat, told: NoteEvent): Uint8Array {
  if (format === 'lines') return Buffer.from(`${JSON.stringify(told)}\n`);
  const place = told.event === 'note' ? idLine(told.id) : '';
  return Buffer.from(`event: ${told.event}\n${place}data: ${JSON.stringify(dataOf(told))}\n\n`);
}

/**
 * The first bytes of a stream.
 * @param from the place from which on the client is told, which it says when it comes again; undefined if it knows one
 */
export function startOf(format: StreamFormat, from: Arrival | undefined): Uint8Array {
  if (format === 'lines') return HEARTBEATS.lines;
  const place = from ? idLine(from.id || BEGINNING) : '';
  return Buffer.from(`retry: 3000\n${place}\n`);
}

function dataOf(told: NoteEvent): unknown {
  if ('note' in told) return told.note;
  return told.event === 'gone' ? { id: told.id } : {};
}

/** Somebody who names a file by hand can put line breaks into the id, which would begin other fields. */
function idLine(id: string): string {
  return /[\r\n]/.test(id) ? '' : `id: ${id}\n`;
}
