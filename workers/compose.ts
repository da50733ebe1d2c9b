import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type ComposeTask, compose } from '../src/read/views/compose.ts';

/**
 * Composes a view that is too large for the event loop. Returns a `Composed`, moved and not copied. A note's content must
 * be in a buffer of its own, see `sendable`.
 */
export default function composeOnWorker(task: ComposeTask): unknown {
  const composed = compose(task);
  return move({ [transferableSymbol]: [composed.bytes.buffer], [valueSymbol]: composed });
}
