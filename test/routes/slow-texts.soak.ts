/** Texts on which the markdown parser takes seconds to minutes hold up nobody but their own readers, for a while. */
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { type ExactReply, exactly } from '../support/exact-request.ts';
import { isIdle, renderedTasks, renderingTasks, untilItRenders } from '../support/rendering.ts';
import { ask, post, start, type TestService } from '../support/service.ts';

/** `_a*` over and over: the parser's work grows with the square of its length. */
const slow = (bytes: number, mark: string) => `${mark} ${'_a*'.repeat(bytes / 3)}`;

/** Replaces a feed's address by that of its list. */
const TO_LIST = [/\/r\/(.*)\/feed.xml/, '/api/v1/read/$1/notes'] as const;

/** A feed with a note that has been rendered, and a slow one. */
async function slowFeed({ url }: TestService, name: string, text: string): Promise<string> {
  const { json } = await post(`${url}/${name}`, '# Before\n\n*as usual*');
  await eventually(async () => (await exactly(json.read_url)).text.includes(AS_USUAL));
  await post(`${url}/${name}`, text);
  return json.read_url;
}

const AS_USUAL = '&lt;em&gt;as usual&lt;/em&gt;';

interface Reading<T> {
  readonly result: Promise<T>;
  isOver: boolean;
}

/** A reading, and whether it is over. */
function watched<T>(promise: Promise<T>): Reading<T> {
  const reading: Reading<T> = {
    result: promise.finally(() => {
      reading.isOver = true;
    }),
    isOver: false,
  };
  return reading;
}

/** Waits until no text is being rendered, nor waits: all have been tried, also those that readers gave up. */
async function untilIdle(service: TestService): Promise<void> {
  while (!isIdle(await renderingTasks(service))) await wait(50);
}

const service = await start(t, { SERVICE_METRICS: '1' });
const { url } = service;
await untilItRenders(url);
// So large a list is made on a thread, which is to run.
await exactly((await slowFeed(service, 'large', `large ${'word '.repeat(15_000)}`)).replace(...TO_LIST));

for (const size of [20_000, 100_000])
  t.test(`${size} bytes of open emphasis are shown as text, the other notes as ever`, async (t) => {
    let tried = 0;
    const isListedBefore = async () => {
      tried += 1;
      const name = `slow-${size}-${tried}`;
      const text = slow(size, name);
      const address = await slowFeed(service, name, text);
      await untilIdle(service);
      const reading = watched(exactly(address));
      t.equal((await exactly(address.replace(...TO_LIST))).status, 200);
      const { isOver } = reading;
      const { status, text: rss } = await reading.result;
      t.equal(status, 200);
      t.ok(rss.includes(`<content:encoded>&lt;pre&gt;${text}&lt;/pre&gt;</content:encoded>`), 'escaped text');
      t.ok(rss.includes(AS_USUAL), 'HTML of the other note');
      return !isOver;
    };
    t.ok(await eventually(isListedBefore), 'the list, which shows no HTML, does not wait for it');
  });

t.test('a text that was too slow once is not tried again', async (t) => {
  const text = slow(60_000, 'again');
  const address = await slowFeed(service, 'again', text);
  await untilIdle(service);
  await exactly(address);
  await untilIdle(service);
  for (let i = 0; i < 3; i += 1) {
    // Long, because a short one is rendered without a task.
    await post(`${url}/again`, `new ${i}`.padEnd(400, ' and on'));
    const before = await renderedTasks(service);
    const { text: rss } = await exactly(address);
    t.ok(rss.includes(`new ${i}`) && rss.includes('_a*_a*'));
    await untilIdle(service);
    t.equal(await renderedTasks(service), before + 1, 'the new text alone');
  }
  const before = await renderedTasks(service);
  await exactly(address.replace('feed.xml', 'feed.json'));
  t.equal(await renderedTasks(service), before, 'nor for another view');
  const { json } = await ask(`${url}/api/v1/feeds/again/preview`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  });
  t.match(json.html, /^<pre/);
  t.equal(await renderedTasks(service), before, 'nor for a preview');
});

/**
 * Whether feeds that nobody has read yet can be read, one after the other, while `readings` still wait. On a machine
 * that has no time to spare threads with texts may get none of it, and a feed is then answered as text.
 */
async function canReadOthers(name: string, readings: readonly Reading<unknown>[]): Promise<boolean> {
  const warm = (await post(`${url}/${name}-warm`, '*warm*')).json.read_url;
  for (let i = 0; i < 5; i += 1) {
    const cold = (await post(`${url}/${name}-${i}`, `*cold ${i}*`)).json.read_url;
    const { text } = await exactly(cold);
    if (!text.includes(`&lt;em&gt;cold ${i}&lt;/em&gt;`)) return false;
    if ((await exactly(warm)).status !== 200 || readings.some(({ isOver }) => isOver)) return false;
  }
  return true;
}

/** Begins readings of new feeds, given how often that has been done, and reads others meanwhile, until it can. */
async function readsOthersMeanwhile(
  t: Test,
  name: string,
  begin: (tried: number) => Promise<Reading<ExactReply>[]>,
): Promise<void> {
  let tried = 0;
  const isRead = async () => {
    tried += 1;
    await untilIdle(service);
    const readings = await begin(tried);
    const could = await canReadOthers(`${name}-${tried}`, readings);
    for (const { result } of readings) t.equal((await result).status, 200);
    return could;
  };
  t.ok(await eventually(isRead), 'others are read');
}

t.test('meanwhile other feeds are read, cold and warm, and notes are posted', async (t) => {
  await readsOthersMeanwhile(t, 'beside-rss', async (tried) => {
    const address = await slowFeed(service, `slow-rss-${tried}`, slow(99_000, `one ${tried}`));
    return [watched(exactly(address))];
  });
});

t.test('many views of a slow text, and many Hosts, take one thread together', async (t) => {
  await readsOthersMeanwhile(t, 'beside-views', async (tried) => {
    const address = await slowFeed(service, `slow-views-${tried}`, slow(99_000, `views ${tried}`));
    return [
      ...[address, address.replace('feed.xml', 'feed.json')].map((view) => watched(exactly(view))),
      ...Array.from({ length: 20 }, (_, i) =>
        watched(exactly(address, { headers: { host: `host-${i}.example` } })),
      ),
    ];
  });
});

t.test('a feed full of slow texts is answered before they are all tried', async (t) => {
  const { json } = await post(`${url}/slow-many`, slow(90_000, '0'));
  for (let i = 1; i < 8; i += 1) await post(`${url}/slow-many`, slow(90_000, `${i}`));
  await untilIdle(service);
  const before = await renderedTasks(service);
  t.equal((await exactly(json.read_url)).status, 200);
  t.ok((await renderedTasks(service)) < before + 8, 'some of them have not been tried');
});

t.test('where slow texts of others hold all threads for long texts, usual notes are rendered', async (t) => {
  const single = await start(t, { SERVICE_METRICS: '1', SERVICE_WORKERS: '1' });
  const readings: Promise<ExactReply>[] = [];
  for (let i = 0; i < 4; i += 1) {
    const { json } = await post(`${single.url}/slow-${i}`, slow(99_000, `${i}`));
    readings.push(exactly(json.read_url));
  }
  t.ok(await eventually(async () => (await renderingTasks(single)).slowestParsing! > 1));
  for (let i = 0; i < 3; i += 1) {
    // A short text needs no thread.
    const cold = (await post(`${single.url}/cold-${i}`, `*cold*${' word'.repeat(100)}`)).json.read_url;
    t.match((await exactly(cold)).text, '&lt;em&gt;cold&lt;/em&gt;');
  }
  for (const reading of readings) t.equal((await reading).status, 200);
  await untilIdle(single);
});
