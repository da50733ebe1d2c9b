import { mkdirSync, rmSync, statfsSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';

const FILE = { id: 'file', method: 'GET', path: '/r/{readId}/{file}' } as Operation;
const READ: Outcome = {
  request: { requestId: '0123456789abcdef', parameters: ['read-id', 'file'] },
  operation: FILE,
  method: 'GET',
  status: 200,
  ms: 2,
  received: 0,
  bytes: 10,
  code: undefined,
  error: undefined,
  isLive: false,
};

/** The samples of a scrape: the value of each metric with its labels. */
async function scrape(metrics: Metrics): Promise<Map<string, number>> {
  const lines = (await metrics.metricsAnswer()).split('\n').filter((line) => line !== '' && line[0] !== '#');
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

t.test('requests are counted by operation and class of status', async (t) => {
  const metrics = createMetrics();
  metrics.request(READ);
  metrics.request({ ...READ, status: 206, ms: 60 });
  metrics.request({ ...READ, status: 404, code: 'not_found' });
  metrics.request({ ...READ, operation: undefined, status: 404, code: 'not_found' });
  const samples = await scrape(metrics);
  const durations = 'service_http_request_duration_seconds';
  t.equal(samples.get(`${durations}_count{operation="file",status="2xx"}`), 2);
  t.equal(samples.get(`${durations}_bucket{le="0.005",operation="file",status="2xx"}`), 1);
  t.equal(samples.get(`${durations}_bucket{le="0.1",operation="file",status="2xx"}`), 2);
  t.equal(samples.get(`${durations}_sum{operation="file",status="2xx"}`), 0.062);
  t.equal(samples.get(`${durations}_count{operation="file",status="4xx"}`), 1);
  t.equal(samples.get(`${durations}_count{operation="none",status="4xx"}`), 1);
  t.equal(samples.get('service_refusals_total{code="not_found"}'), 2);
});

t.test('a live answer, which lasts for hours, is in no histogram', async (t) => {
  const metrics = createMetrics();
  metrics.request({ ...READ, ms: 3_600_000, isLive: true });
  t.notMatch(await metrics.metricsAnswer(), /duration_seconds_count\{operation/);
});

t.test('bytes in and out, by operation', async (t) => {
  const metrics = createMetrics();
  metrics.request({ ...READ, received: 300, bytes: 5 });
  metrics.request({ ...READ, received: 30, bytes: 6 });
  const samples = await scrape(metrics);
  t.equal(samples.get('service_http_request_bytes_total{operation="file"}'), 330);
  t.equal(samples.get('service_http_response_bytes_total{operation="file"}'), 11);
});

t.test('refusals by limits are there from the start, at zero', async (t) => {
  const metrics = createMetrics();
  const limited = 'service_refusals_total{code="rate_limited"}';
  const before = await scrape(metrics);
  t.equal(before.get(limited), 0);
  t.equal(before.get('service_refusals_total{code="too_many_attempts"}'), 0);
  metrics.request({ ...READ, status: 429, code: 'rate_limited' });
  t.equal((await scrape(metrics)).get(limited), 1);
});

t.test('tasks by what was done, commits by time and size', async (t) => {
  const metrics = createMetrics();
  metrics.task('render-texts', 30);
  metrics.commits.wrote(4);
  metrics.commits.committed(3);
  const samples = await scrape(metrics);
  t.equal(samples.get('service_task_duration_seconds_sum{task="render-texts"}'), 0.03);
  t.equal(samples.get('service_storage_commit_duration_seconds_bucket{le="0.0025"}'), 0);
  t.equal(samples.get('service_storage_commit_duration_seconds_bucket{le="0.005"}'), 1);
  t.equal(samples.get('service_storage_commit_writes_bucket{le="2"}'), 0);
  t.equal(samples.get('service_storage_commit_writes_bucket{le="4"}'), 1);
});

t.test('parts that count for themselves are asked at every scrape', async (t) => {
  const metrics = createMetrics();
  let hits = 5;
  const cache = {
    get counts() {
      return { hits, misses: 2, evictions: 1, entries: 4, bytes: 1000 };
    },
    isEnabled: true,
  };
  const checks = { waiting: 3, running: 2, refused: 4 };
  const connections = { open: 12, refused: 3 };
  metrics.watch({
    cache,
    pools: { checks },
    bodies: { used: 77, refused: 5 },
    streams: () => 6,
    connections,
    linesLost: () => 9,
  });
  const first = await scrape(metrics);
  const expected = {
    service_cache_hits_total: 5,
    service_cache_misses_total: 2,
    service_cache_evictions_total: 1,
    service_cache_entries: 4,
    service_cache_bytes: 1000,
    service_cache_fresh: 1,
    service_request_body_bytes: 77,
    'service_queue_full_total{queue="checks"}': 4,
    'service_queue_full_total{queue="bodies"}': 5,
    service_event_streams: 6,
    service_connections: 12,
    service_connections_refused_total: 3,
    service_log_lines_lost_total: 9,
    'service_pool_waiting{pool="checks"}': 3,
    'service_pool_running{pool="checks"}': 2,
  };
  for (const [name, value] of Object.entries(expected)) t.equal(first.get(name), value, name);
  hits = 8;
  checks.waiting = 0;
  checks.refused = 6;
  cache.isEnabled = false;
  const second = await scrape(metrics);
  t.equal(second.get('service_cache_hits_total'), 8);
  t.equal(second.get('service_cache_fresh'), 0);
  t.equal(second.get('service_queue_full_total{queue="checks"}'), 6);
  t.equal(second.get('service_pool_waiting{pool="checks"}'), 0);
});

t.test('the storage is asked at every scrape, and is down if it fails or does not answer', async (t) => {
  // What a service would be held by: the timer of the check holds nothing.
  const server = createServer().listen();
  t.teardown(() => server.close());
  const metrics = createMetrics();
  let check = async () => {};
  const backupMark = join(t.testdir(), 'mark');
  metrics.watchResources({ checkStorage: () => check(), folders: {}, backupMark });
  const isUp = async () => (await scrape(metrics)).get('service_storage_up');
  t.equal(await isUp(), 1);
  check = () => Promise.reject(new Error('down'));
  t.equal(await isUp(), 0);
  check = () => new Promise(() => {});
  t.equal(await isUp(), 0);
  check = async () => {};
  t.equal(await isUp(), 1);
});

t.test('disks by what is on them, and the date of the last backup', async (t) => {
  const metrics = createMetrics();
  const dir = t.testdir({ mark: '' });
  const backupMark = join(dir, 'mark');
  utimesSync(backupMark, 0, 1_700_000_000.5);
  const folders = { data: dir, images: join(dir, 'images') };
  metrics.watchResources({ checkStorage: async () => {}, folders, backupMark });
  const first = await scrape(metrics);
  t.equal(first.get('service_backup_timestamp_seconds'), 1_700_000_000.5);
  const { blocks, bsize } = statfsSync(dir);
  t.equal(first.get('service_disk_size_bytes{disk="data"}'), blocks * bsize);
  const free = first.get('service_disk_free_bytes{disk="data"}')!;
  t.ok(free > 0 && free < blocks * bsize);
  t.notOk(first.has('service_disk_free_bytes{disk="images"}'), 'a folder that is not there');
  rmSync(backupMark);
  mkdirSync(folders.images);
  const second = await scrape(metrics);
  t.equal(second.get('service_backup_timestamp_seconds'), 0, 'no backup');
  t.ok(second.has('service_disk_free_bytes{disk="images"}'));
});

t.test('the process and its event loop are watched', async (t) => {
  const samples = await scrape(createMetrics());
  for (const name of [
    'nodejs_eventloop_lag_seconds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_eventloop_lag_max_seconds',
  ])
    t.ok((samples.get(name) ?? -1) >= 0, name);
  const descriptors = process.platform === 'linux' ? ['process_open_fds', 'process_max_fds'] : [];
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total', ...descriptors])
    t.ok((samples.get(name) ?? 0) > 0, name);
});

t.test('what a client sends is in no label', async (t) => {
  const metrics = createMetrics();
  metrics.request({ ...READ, operation: undefined, method: 'BREW-COFFEE', status: 405, code: 'not_found' });
  t.notMatch(await metrics.metricsAnswer(), /BREW/);
});

t.test('two services in one process count each for itself', async (t) => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.request(READ);
  const name = 'service_http_request_duration_seconds_count{operation="file",status="2xx"}';
  t.equal((await scrape(one)).get(name), 1);
  t.equal((await scrape(other)).get(name), undefined);
  t.match(one.contentType, /^text\/plain; version=0\.0\.4/);
});
