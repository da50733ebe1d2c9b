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
  };
  const checks = { waiting: 3, running: 2 };
  const connections = { open: 12, refused: 3 };
  metrics.watch({
    cache,
    pools: { checks },
    bodyBytes: () => 77,
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
    service_request_body_bytes: 77,
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
  const second = await scrape(metrics);
  t.equal(second.get('service_cache_hits_total'), 8);
  t.equal(second.get('service_pool_waiting{pool="checks"}'), 0);
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
