import { move, transferableSymbol, valueSymbol } from 'piscina';
import { filesUrl } from '../src/feeds/urls.ts';
import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/note-text.ts';
import { type Composed, compose, type FeedTask, withNotes } from '../src/read/views/compose.ts';

/** A feed with notes that are not rendered yet. */
export interface UnrenderedFeed {
  readonly task: FeedTask;
  /** Shared memory for one number: the index of the note that is being rendered. */
  readonly at: Int32Array<SharedArrayBuffer>;
}

export interface ComposedFeed {
  /** The first of the notes that were not rendered, in their order. */
  readonly rendered: readonly Rendered[];
  /** Undefined if notes are left for another task. */
  readonly composed: Composed | undefined;
}

/** After this CPU time the rest is left for another task, so that a task that reaches its limit loses little. */
const SLICE_MS = 200;

/**
 * Renders at least one note of a feed, and as many as there is time for; after the last it composes the feed. Returns a
 * `ComposedFeed`. A note's content must be in a buffer of its own, see `sendable`.
 */
export default function composeFeed({ task, at }: UnrenderedFeed): unknown {
  const before = usedMs();
  const { document } = task;
  const base = filesUrl(document.base, document.readId);
  const notes = [...document.notes];
  const rendered: Rendered[] = [];
  for (const [index, note] of notes.entries()) {
    if (note.content === undefined || note.rendered !== undefined) continue;
    if (rendered.length > 0 && usedMs() - before > SLICE_MS) return { rendered };
    Atomics.store(at, 0, index);
    const result = renderNote(note.content, base);
    rendered.push(result);
    notes[index] = { ...note, rendered: result };
  }
  const composed = compose(withNotes(task, notes));
  return move({ [transferableSymbol]: [composed.bytes.buffer], [valueSymbol]: { rendered, composed } });
}

/** CPU time of this thread so far. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
