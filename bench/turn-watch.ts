/**
 * Loaded by a server before its own code (`--import`). Measures the turns of the event loop to 1 ms, by a timer of
 * 1 ms, and at each SIGUSR2 writes a line that says how long the longest was since the last one, and how much CPU time the
 * dearest took, in ms. A loop that never waits would take a core from the threads of the server.
 */
import { isMainThread } from 'node:worker_threads';
import { ownCpuMs } from '../src/cpu-time.ts';

if (isMainThread) watch();

function watch(): void {
  let [longestTurn, mostCpu] = [0, 0];
  let [last, lastCpu] = [performance.now(), ownCpuMs()];
  const turn = () => {
    const [now, cpu] = [performance.now(), ownCpuMs()];
    longestTurn = Math.max(longestTurn, now - last);
    mostCpu = Math.max(mostCpu, cpu - lastCpu);
    [last, lastCpu] = [now, cpu];
    setTimeout(turn, 1);
  };
  turn();
  process.on('SIGUSR2', () => {
    process.stdout.write(`${JSON.stringify({ longestTurn, mostCpu })}\n`);
    [longestTurn, mostCpu] = [0, 0];
    [last, lastCpu] = [performance.now(), ownCpuMs()];
  });
}
