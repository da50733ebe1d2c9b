import { move, transferableSymbol, valueSymbol } from 'piscina';
import { filesUrl } from '../src/feeds/urls.ts';
import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/unrendered.ts';
import { type Composed, compose, type FeedTask, withNotes } from '../src/read/views/compose.ts';

/** A feed some of whose notes are not rendered yet. */
export interface UnrenderedFeed {
  readonly task: FeedTask;
  /** Shared memory for one number: which note is being rendered. */
  readonly at: Int32Array<SharedArrayBuffer>;
}

/** What there was time for. */
export interface ComposedFeed {
  /** Those of the notes that were not rendered, in their order. */
  readonly rendered: readonly Rendered[];
  /** Undefined if notes are left to another task. */
  readonly composed: Composed | undefined;
}

/** After this CPU time the rest is left to another task, so that one ended by its limit loses little, in ms. */
const LONG_MS = 200;

/**
 * Renders the notes of a feed, one at least and as many as there is time for, and then composes it. The caller gets a
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
    if (rendered.length > 0 && usedMs() - before > LONG_MS) return { rendered };
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
