import { parseMessage } from '../src/requests/bodies.ts';

/** As `parseMessage`, for a body that is too large for the event loop. */
export default function parseLargeMessage(body: Uint8Array): unknown {
  return parseMessage(body);
}
