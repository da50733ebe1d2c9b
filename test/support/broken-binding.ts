import { readFileSync } from 'node:fs';

/** The binary that install/mend-binding.cjs mends, where it is among the packages. */
export const BINARY = new URL(
  '../../node_modules/uWebSockets.js/dist/bin/uws_linux_x64_127.node',
  import.meta.url,
);

/** That binary as it was before: with the jumps of a signed comparison. */
export function brokenBinding(): Buffer {
  const bytes = readFileSync(BINARY);
  bytes[0xf2522] = 0x7d;
  bytes[0xf253c] = 0x7f;
  return bytes;
}
