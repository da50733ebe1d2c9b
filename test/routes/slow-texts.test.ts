/** Texts on which the markdown parser takes seconds to minutes hold up nobody but their own readers, for a while. */
import t, { type Test } from 'tap';
import { exactly } from '../support/exact-request.ts';
import { post, start, type TestService } from '../support/service.ts';

/** The renderer's limit for one text and as much again for a slow machine, in ms. */
const PATIENCE = 4_000;
/** `_a*` over and over: the parser's work grows with the square of its length. */
const slow = (bytes: number, mark: string) => `${mark} ${'_a*'.repeat(bytes / 3)}`;

async function slowFeed({ url }: TestService, name: string, text: string): Promise<string> {
  await post(`${url}/${name}`, '# Before\n\n*as usual*');
  const { json } = await post(`${url}/${name}`, text);
  return json.read_url;
}

/** When a promise settled, in ms from now; undefined while it has not. */
function timed<T>(promise: Promise<T>): { result: Promise<T>; ms: number | undefined } {
  const begun = performance.now();
  const timing: { result: Promise<T>; ms: number | undefined } = { result: promise, ms: undefined };
  timing.result = promise.finally(() => {
    timing.ms = performance.now() - begun;
  });
  return timing;
}

const service = await start(t);
const { url } = service;

for (const size of [20_000, 100_000])
  t.test(`${size} bytes of open emphasis are shown as text, the other notes as ever`, async (t) => {
    const text = slow(size, `slow-${size}`);
    const address = await slowFeed(service, `slow-${size}`, text);
    const list = address.replace(/\/r\/(.*)\/feed.xml/, '/api/v1/read/$1/notes');
    const reading = timed(exactly(address));
    t.equal((await exactly(list)).status, 200);
    t.equal(reading.ms, undefined, 'the list, which shows no HTML, did not wait for it');
    const { status, text: rss } = await reading.result;
    t.equal(status, 200);
    t.ok(reading.ms! < PATIENCE, `it took ${reading.ms} ms`);
    t.ok(rss.includes(`<content:encoded>&lt;pre&gt;${text}&lt;/pre&gt;</content:encoded>`), 'escaped text');
    t.ok(rss.includes('&lt;em&gt;as usual&lt;/em&gt;'), 'HTML of the other note');
  });

t.test('a text that was too slow once is not tried again', async (t) => {
  const text = slow(60_000, 'again');
  const address = await slowFeed(service, 'again', text);
  await exactly(address);
  for (let i = 0; i < 3; i += 1) {
    await post(`${url}/again`, `new ${i}`);
    const reading = timed(exactly(address));
    const { text: rss } = await reading.result;
    t.ok(rss.includes(`new ${i}`) && rss.includes('_a*_a*'));
    t.ok(reading.ms! < PATIENCE / 4, `it took ${reading.ms} ms`);
  }
  const other = timed(exactly(address.replace('feed.xml', 'feed.json')));
  await other.result;
  t.ok(other.ms! < PATIENCE / 4, 'nor for another view');
});

/** Reads feeds that nobody has read yet, one after the other, while `readings` still wait. */
async function readOthers(
  t: Test,
  name: string,
  readings: readonly { ms: number | undefined }[],
): Promise<void> {
  const warm = (await post(`${url}/${name}-warm`, '*warm*')).json.read_url;
  for (let i = 0; i < 5; i += 1) {
    const cold = (await post(`${url}/${name}-${i}`, `*cold ${i}*`)).json.read_url;
    t.match((await exactly(cold)).text, `&lt;em&gt;cold ${i}&lt;/em&gt;`);
    t.equal((await exactly(warm)).status, 200);
    for (const { ms } of readings) t.equal(ms, undefined, 'the slow text is still being rendered');
  }
}

t.test('meanwhile other feeds are read, cold and warm, and notes are posted', async (t) => {
  const reading = timed(exactly(await slowFeed(service, 'slow-rss', slow(99_000, 'one'))));
  await readOthers(t, 'beside-rss', [reading]);
  t.equal((await reading.result).status, 200);
});

t.test('many views of a slow text, and many Hosts, take one thread together', async (t) => {
  const address = await slowFeed(service, 'slow-views', slow(99_000, 'views'));
  const readings = [
    ...[address, address.replace('feed.xml', 'feed.json')].map((view) => timed(exactly(view))),
    ...Array.from({ length: 20 }, (_, i) =>
      timed(exactly(address, { headers: { host: `host-${i}.example` } })),
    ),
  ];
  await readOthers(t, 'beside-views', readings);
  for (const { result } of readings) t.equal((await result).status, 200);
  for (const { ms } of readings) t.ok(ms! < PATIENCE, `it took ${ms} ms`);
});

t.test('a feed full of slow texts is answered before they are all tried', async (t) => {
  const { json } = await post(`${url}/slow-many`, slow(90_000, '0'));
  for (let i = 1; i < 8; i += 1) await post(`${url}/slow-many`, slow(90_000, `${i}`));
  const reading = timed(exactly(json.read_url));
  t.equal((await reading.result).status, 200);
  t.ok(reading.ms! < 10_000, `it took ${reading.ms} ms, and all of them take 16 s`);
});
