/**
 * How long forms hold the event loop: its longest turn while two clients post one, round after round, beside a bare
 * server that only receives the bytes. What one round shows may be another process that had the core; what the forms
 * cost is in every round.
 *
 * A client on the same machine can send without end while the binding reads, which then does not end its turn before
 * the body does. With receive buffers smaller than what it reads at once, 512 KiB, as in `deploy/`, every turn gets one
 * piece (as root):
 *
 *     unshare --net sh -c 'ip link set lo up
 *       sysctl -w net.ipv4.tcp_rmem="4096 131072 524288"; node bench/turns.ts'
 *
 * `node bench/turns.ts --only pictures --rounds 50`: a text that the names of what is measured must hold, and how often
 * it is done. Takes two minutes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { postForms } from './child.ts';
import { FORM_TYPE, HOSTILE_FORMS } from './form-samples.ts';
import { program, ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { row } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const CLIENTS = ['127.0.0.2', '127.0.0.3'];
const WATCHED = { NODE_OPTIONS: `--import ${program('turn-watch.ts')}` };

const { values: options } = parseArgs({
  options: { only: { type: 'string', default: '' }, rounds: { type: 'string', default: '20' } },
});
const rounds = Number(options.rounds);

const dir = temporaryFolder('turns');
const bodyFile = join(dir, 'form');

console.log(`Longest turn of the event loop in ms while two forms arrive, of ${rounds} rounds.\n`);
row('', ['shortest', 'median', 'longest']);
await measure('bare', await ServerProcess.startBare(dir, [], WATCHED), '/receive');
const own = { ...WATCHED, SERVICE_LOG_REQUESTS: '0' };
await measure('service', await ServerProcess.startService(join(dir, 'data'), own), '/forms');

async function measure(title: string, server: ServerProcess, path: string): Promise<void> {
  for (const [name, form] of Object.entries(HOSTILE_FORMS)) {
    if (!name.includes(options.only)) continue;
    writeFileSync(bodyFile, form());
    const longest: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await longestTurn(server);
      await postForms({ url: server.url + path, bodyFile, type: FORM_TYPE, from: CLIENTS, seconds: 0 });
      longest.push(await longestTurn(server));
    }
    const columns = [Math.min(...longest), median(longest), Math.max(...longest)];
    row(
      `${title}: ${name}`,
      columns.map((ms) => ms.toFixed(1)),
    );
  }
  await server.stop();
}

/** Since it was asked for last, in ms. */
async function longestTurn(server: ServerProcess): Promise<number> {
  const line = server.nextLine('longestTurn');
  server.signal();
  return (await line).longestTurn;
}
