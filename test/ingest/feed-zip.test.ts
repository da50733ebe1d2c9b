import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { FeedZip, type ZippedFile } from '../../src/ingest/feed-zip.ts';
import { tempDir } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

t.test('nothing is inflated beyond the size that the zip says', async (t) => {
  const path = join(await tempDir(t), 'zip');
  // The short file is inflated on the event loop, the long one on a thread.
  const bombs = { 'short.md': [9, 900_000], 'long.md': [200_000, 30_000_000] } as const;
  const files = Object.entries(bombs).map(([name, [size, real]]) => ({
    ...{ name, size, bytes: Buffer.alloc(real) },
  }));
  await writeFile(path, zipOf(files));
  const handle = await open(path);
  t.teardown(() => handle.close());
  let count = 0;
  for await (const file of (await FeedZip.open(handle)).files()) {
    count += 1;
    await t.rejects((file as ZippedFile).read(1_000_000), {
      code: 'invalid_body',
      cause: { code: 'ERR_BUFFER_TOO_LARGE' },
    });
  }
  t.equal(count, 2);
});

t.test('dates of files are in UTC, wherever the service runs', async (t) => {
  const { TZ } = process.env;
  process.env.TZ = 'Asia/Tokyo';
  t.teardown(() => {
    process.env.TZ = TZ ?? 'UTC';
  });
  const path = join(await tempDir(t), 'zip');
  await writeFile(path, zipOf([{ name: 'a.md' }]));
  const handle = await open(path);
  t.teardown(() => handle.close());
  for await (const file of (await FeedZip.open(handle)).files())
    t.equal((file as ZippedFile).modifiedAt, Date.UTC(2025, 0, 1));
});
