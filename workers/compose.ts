import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type ComposeTask, compose } from '../src/read/views/compose.ts';

/**
 * The bytes of a view that is too large for the event loop; they are moved back, not copied. The caller gets a
 * `Composed`. A note's content must be in a buffer of its own: of a part of a buffer the whole is sent.
 */
export default function composeOnWorker(task: ComposeTask): unknown {
  const composed = compose(task);
  return move({ [transferableSymbol]: [composed.bytes.buffer], [valueSymbol]: composed });
}
