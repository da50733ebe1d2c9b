import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type Composed, compose, type ViewTask } from '../src/read/views/compose.ts';

/**
 * Composes a view that is too large for the event loop. Returns a `Composed`, moved and not copied. A note's content must
 * be in a buffer of its own, see `sendable`.
 */
export default function composeOnWorker({ task, coding }: ViewTask): unknown {
  return moved(compose(task, coding), (composed) => composed);
}

/** A result whose view is moved to the other thread. */
export function moved<R extends object>(result: R, viewOf: (result: R) => Composed): unknown {
  const { bytes, encoded } = viewOf(result);
  const buffers = encoded ? [bytes.buffer, encoded.bytes.buffer] : [bytes.buffer];
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result });
}
