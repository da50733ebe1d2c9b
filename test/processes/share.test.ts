/** What one of several processes may take of the memory and threads that are for all. */
import t from 'tap';
import { readConfig } from '../../src/config.ts';
import { largestRequestBytes } from '../../src/feeds/limits.ts';
import { leastBodyMemory } from '../../src/http/body-memory.ts';
import { shareOf } from '../../src/processes/share.ts';

const MIB = 1024 * 1024;

function share(SERVICE_PROCESSES: string, env: Record<string, string> = {}) {
  return shareOf(
    readConfig({
      SERVICE_STORAGE: 'postgres',
      SERVICE_DATABASE_URL: 'postgres://db.example/notes',
      SERVICE_SECRET: 'x'.repeat(32),
      SERVICE_WORKERS: '8',
      SERVICE_PROCESSES,
      ...env,
    }),
  );
}

t.test('memory and threads are divided', async (t) => {
  t.match(share('1'), { cacheBytes: 64 * MIB, bodyMemoryBytes: 256 * MIB, workers: 8 });
  t.match(share('2'), { cacheBytes: 32 * MIB, bodyMemoryBytes: 128 * MIB, workers: 4, processes: 2 });
  t.match(share('3'), { workers: 3 });
});

t.test('a process never has too little to work', async (t) => {
  const { cacheBytes, bodyMemoryBytes, workers, maxImageBytes } = share('64', {
    SERVICE_CACHE_BYTES: String(2 * MIB),
  });
  t.equal(cacheBytes, MIB);
  t.equal(bodyMemoryBytes, leastBodyMemory(largestRequestBytes(maxImageBytes)), 'the largest request fits');
  t.equal(workers, 1);
});
