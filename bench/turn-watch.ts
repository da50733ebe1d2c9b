/**
 * Loaded by a server before its own code (`--import`). Measures every turn of the event loop, by a loop that never
 * waits, and at each SIGUSR2 writes a line that says how long the longest was since the last one, in ms.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) watch();

function watch(): void {
  let longestTurn = 0;
  let last = performance.now();
  const turn = () => {
    const now = performance.now();
    longestTurn = Math.max(longestTurn, now - last);
    last = now;
    setImmediate(turn);
  };
  turn();
  process.on('SIGUSR2', () => {
    process.stdout.write(`${JSON.stringify({ longestTurn })}\n`);
    longestTurn = 0;
    last = performance.now();
  });
}
