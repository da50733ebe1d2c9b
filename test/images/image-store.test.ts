import t from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import { type ImageStore, withMetrics } from '../../src/images/image-store.ts';

t.test('a reader that leaves ends a read that is measured', async (t) => {
  let isEnded = false;
  const get = async function* () {
    try {
      for (;;) yield new Uint8Array(1);
    } finally {
      isEnded = true;
    }
  };
  const store = withMetrics({ get } as unknown as ImageStore, () => {});
  for await (const _ of store.get(newImageKey(), 0, 9)) break;
  t.ok(isEnded);
});
