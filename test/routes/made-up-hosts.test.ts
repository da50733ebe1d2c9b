/** Hosts that an attacker makes up, where PUBLIC_URL does not say which one is right (contract §1). */
import t from 'tap';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';

const ROUNDS = 20;
const MADE_UP = Array.from({ length: 8 }, (_, n) => `made-up-${n}.example`);

for (const isFirst of [true, false])
  t.test(`eight made-up hosts, the right one ${isFirst ? 'first' : 'last'}`, async (t) => {
    const { url, port } = await start(t, { SERVICE_METRICS: '1' });
    const note = (await post(`${url}/tern`, 'A note that everybody reads.')).json;
    const read = new URL(note.read_url).pathname;
    const connection = await RawConnection.open(port);
    t.teardown(() => connection.close());
    const get = async (path: string, host: string) => {
      connection.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return (await connection.response()).body.toString();
    };
    const misses = async () =>
      Number(/^service_cache_misses_total (\d+)$/m.exec((await ask(`${url}/metrics`)).text)![1]);
    const paths = [read, read.replace('/feed.xml', ''), read.replace('/feed.xml', `/${note.id}`)];
    const right = async () => {
      for (const path of paths) {
        const text = await get(path, 'right.example');
        t.ok(text.includes('http://right.example/'));
        t.notOk(text.includes('made-up'), 'nothing of another host');
      }
    };
    if (isFirst) await right();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const host of [...MADE_UP, ...MADE_UP])
        for (const path of paths) t.ok((await get(path, host)).includes(`http://${host}/`));
      const before = await misses();
      await right();
      const after = await misses();
      if (isFirst || round > 0) t.equal(after, before, 'answered from the cache');
    }
  });
