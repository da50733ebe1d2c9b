import t from 'tap';
import type { FeedName, NoteFile } from '../../src/feeds/names.ts';
import type { BodyStream } from '../../src/http/answer.ts';
import { FileBodies } from '../../src/read/file-bodies.ts';
import type { Storage, StoredFile } from '../../src/storage/storage.ts';

const FEED = { name: 'feed' as FeedName, key: '1' };
const FILE = 'large.gif' as NoteFile;
const GET = { isHead: false, header: () => undefined };

/** A storage that holds one file, and counts how often it is open. */
class OneFile {
  bytes = Buffer.from('first');
  modifiedAt = 1000;
  open = 0;

  get storage(): Storage {
    return { open: async () => this.#opened() } as Partial<Storage> as Storage;
  }

  #opened(): StoredFile {
    this.open += 1;
    const { bytes, modifiedAt } = this;
    return {
      size: bytes.length,
      modifiedAt,
      sha256: undefined,
      async *read(start, end) {
        yield bytes.subarray(start, end);
      },
      close: async () => {
        this.open -= 1;
      },
    };
  }
}

async function read(body: BodyStream): Promise<string> {
  let text = '';
  for await (const chunk of body.chunks) text += Buffer.from(chunk).toString();
  return text;
}

t.test('a large file replaced between its headers and its bytes is not sent under the old tag', async (t) => {
  const file = new OneFile();
  const bodies = new FileBodies(file.storage, 0);
  const { representation, isCacheable } = await bodies.build(FEED, FILE, 'image/gif');
  t.equal(isCacheable, false);
  const body = async () => (await representation.answer(GET)).body as BodyStream;
  t.equal(await read(await body()), 'first');
  for (const [bytes, modifiedAt] of [
    ['other', 2000],
    ['longer', 1000],
  ] as const) {
    file.bytes = Buffer.from(bytes);
    file.modifiedAt = modifiedAt;
    await t.rejects(body().then(read), { code: 'store_unavailable' });
  }
  t.equal(file.open, 0, 'and nothing stays open');
});

t.test('a file that fails while it is read is closed', async (t) => {
  const stored: StoredFile = {
    size: 5,
    modifiedAt: 0,
    sha256: undefined,
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    async *read() {
      throw new Error('the disk is broken');
    },
    close: async () => {
      t.pass('closed');
    },
  };
  const storage = { open: async () => stored } as Partial<Storage> as Storage;
  t.plan(4);
  for (const largestKept of [0, 100])
    await t.rejects(new FileBodies(storage, largestKept).build(FEED, FILE, 'image/gif'), /broken/);
});
