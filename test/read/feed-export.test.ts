/** What an export does when the feed changes meanwhile, and the zips that it makes. */
import t from 'tap';
import { fromBufferPromise } from 'yauzl';
import type { Feed } from '../../src/feeds/feed.ts';
import type { NoteFile } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { type ExportedStorage, exportFeed } from '../../src/read/feed-export.ts';
import { ZipWriter } from '../../src/read/zip-writer.ts';
import type { StoredFile } from '../../src/storage/storage.ts';
import { FileReplaced } from '../../src/storage/stored-file.ts';

const FEED = { name: 'marten', key: '1', title: '', description: '', showSender: true, changedAt: 0 } as Feed;
const DATE = Date.UTC(2024, 1, 29, 12, 30, 15);
const MIB = 1024 * 1024;

function note(id: string, type: Note['type'] = 'png'): Note {
  const content = type === 'md' ? Buffer.from(`text of ${id}`) : undefined;
  return {
    id,
    type,
    content,
    size: 9,
    createdAt: DATE,
    modifiedAt: DATE,
    meta: { tags: [] },
  } as unknown as Note;
}

/** A feed of two pages; `read` gives the bytes of a picture, or fails. */
function storageOf(read: (file: NoteFile, attempt: number) => Uint8Array | undefined, isThere = () => true) {
  let attempt = 0;
  const pages = [[note('a', 'md'), note('b')], [note('c')]];
  const storage = {
    feed: async () => (isThere() ? FEED : undefined),
    page: async (_feed: unknown, { before }: { before?: unknown }) =>
      before ? { notes: pages[1], next: undefined } : { notes: pages[0], next: {} },
    stat: async (_feed: unknown, file: NoteFile): Promise<StoredFile | undefined> => {
      attempt += 1;
      const bytes = read(file, attempt);
      return (
        bytes && {
          size: bytes.length,
          modifiedAt: DATE,
          sha256: undefined,
          async *read() {
            if (bytes[0] === 0) throw new FileReplaced();
            yield bytes;
          },
        }
      );
    },
  };
  return storage as unknown as ExportedStorage;
}

async function filesOf(pieces: AsyncIterable<Uint8Array>): Promise<Record<string, number>> {
  const parts: Buffer[] = [];
  for await (const piece of pieces) parts.push(Buffer.from(piece));
  const zip = await fromBufferPromise(Buffer.concat(parts));
  const files: Record<string, number> = {};
  for await (const entry of zip.eachEntry()) {
    files[entry.fileName] = entry.uncompressedSize;
    t.equal(entry.getLastModDate().getTime(), DATE, entry.fileName);
  }
  return files;
}

const META = { '.a.md.json': 38, '.b.png.json': 38, '.c.png.json': 38 };

t.test('pictures of every size are whole, also one that is replaced while it is read', async (t) => {
  const large = Buffer.alloc(9 * MIB, 7);
  const storage = storageOf((file, attempt) =>
    file === 'b.png' ? Buffer.alloc(100_000, attempt - 1) : large,
  );
  t.same(await filesOf(exportFeed(storage, FEED)), {
    ...META,
    ...{ 'a.md': 9, 'b.png': 100_000, 'c.png': large.length },
  });
});

t.test('a note that is gone is left out, and a feed that is gone ends the export', async (t) => {
  const gone = storageOf((file) => (file === 'b.png' ? undefined : Buffer.alloc(10, 1)));
  const { '.b.png.json': _, ...others } = META;
  t.same(await filesOf(exportFeed(gone, FEED)), { ...others, 'a.md': 9, 'c.png': 10 });
  const lost = storageOf(
    () => undefined,
    () => false,
  );
  await t.rejects(filesOf(exportFeed(lost, FEED)), { code: 'not_found' });
});

t.test('a zip may have more files than 65,535', async (t) => {
  const zip = new ZipWriter();
  const parts: Uint8Array[] = [];
  for (let n = 0; n < 70_000; n += 1) parts.push(...zip.file(`${n}.md`, DATE, Buffer.from('x')));
  const read = await fromBufferPromise(Buffer.concat([...parts, ...zip.end()]));
  t.equal(read.entryCount, 70_000);
  let last = '';
  for await (const { fileName } of read.eachEntry()) last = fileName;
  t.equal(last, '69999.md');
});
