import t from 'tap';
import type { NoteFile, ReadId } from '../../src/feeds/names.ts';
import type { BodyStream } from '../../src/http/answer.ts';
import { httpDate, settledAt } from '../../src/http/conditional.ts';
import type { Preconditions, Representation } from '../../src/http/representation.ts';
import { FileBodies } from '../../src/read/file-bodies.ts';
import type { StoredFile } from '../../src/storage/storage.ts';
import { FileReplaced } from '../../src/storage/stored-file.ts';

const READ_ID = 'read-id' as ReadId;
const FILE = 'large.gif' as NoteFile;
const GET: Preconditions = { isHead: false, header: () => undefined };
const HEAD = { ...GET, isHead: true };
const asking = (name: string, value: string) => ({
  ...GET,
  header: (asked: string) => (asked === name ? value : undefined),
});

/** A storage that holds one file, and counts the bytes that were read of it. */
class OneFile {
  bytes = Buffer.from('first');
  modifiedAt = 1000;
  sha256: string | undefined;
  bytesRead = 0;

  async stat(): Promise<StoredFile> {
    const { bytes, modifiedAt, sha256 } = this;
    const read = async function* (this: OneFile, start: number, end: number) {
      if (modifiedAt !== this.modifiedAt) throw new FileReplaced();
      this.bytesRead += end - start;
      yield bytes.subarray(start, end);
    };
    return { size: bytes.length, modifiedAt, sha256, read: read.bind(this) };
  }
}

async function textOf(representation: Representation, request = GET): Promise<string> {
  const { body } = await representation.answer(request);
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  let text = '';
  for await (const chunk of (body as BodyStream).chunks) text += Buffer.from(chunk).toString();
  return text;
}

for (const largestKept of [0, 100])
  t.test(`a replaced file is not sent under the old tag; up to ${largestKept} bytes are kept`, async (t) => {
    const file = new OneFile();
    file.sha256 = 'hash';
    const bodies = new FileBodies(file, largestKept);
    const { representation: old } = await bodies.build(READ_ID, FILE, 'image/gif');
    file.bytes = Buffer.from('other');
    file.modifiedAt = 2000;
    await t.rejects(textOf(old), { code: 'store_unavailable' });
    await t.rejects(textOf(old, asking('range', 'bytes=1-2')), { code: 'store_unavailable' });
    const { representation } = await bodies.build(READ_ID, FILE, 'image/gif');
    t.equal(await textOf(representation), 'other');
  });

t.test('who has the date of a file gets the older one that replaces it', async (t) => {
  const file = new OneFile();
  const bodies = new FileBodies(file, 100);
  const statusOf = async (since: number) => {
    const { representation } = await bodies.build(READ_ID, FILE, 'image/gif');
    representation.confirm();
    return (await representation.answer(asking('if-modified-since', httpDate(since)))).status;
  };
  file.modifiedAt = 9000;
  const date = settledAt(file.modifiedAt);
  t.equal(await statusOf(date), 304);
  file.bytes = Buffer.from('other');
  file.modifiedAt = 1000;
  t.equal(await statusOf(date), 200);
  t.equal(await statusOf(settledAt(file.modifiedAt)), 304);
});

t.test('of a file with a known hash only what is asked for is read, and all of it once', async (t) => {
  const file = new OneFile();
  file.sha256 = 'hash';
  const { representation } = await new FileBodies(file, 100).build(READ_ID, FILE, 'image/gif');
  let grown = 0;
  representation.onGrow = () => {
    grown += 1;
  };
  t.equal((await representation.answer(asking('if-none-match', '"hash"'))).status, 304);
  t.equal(file.bytesRead, 0);
  t.match(await representation.answer(HEAD), { status: 200, body: { size: 5 } });
  t.equal(file.bytesRead, 1, 'a byte shows that it can be read');
  t.equal(await textOf(representation, asking('range', 'bytes=1-2')), 'ir');
  t.equal(file.bytesRead, 3);
  t.same(await Promise.all([textOf(representation), textOf(representation)]), ['first', 'first']);
  t.equal(await textOf(representation, asking('range', 'bytes=1-2')), 'ir');
  t.equal(file.bytesRead, 8);
  t.same([grown, representation.size], [1, 5]);
});

t.test('the hash of a version is made once, until notes of its feed are removed', async (t) => {
  for (const largestKept of [0, 100]) {
    const file = new OneFile();
    const bodies = new FileBodies(file, largestKept);
    const { etag } = (await bodies.build(READ_ID, FILE, 'image/gif')).representation;
    t.equal(file.bytesRead, 5);
    bodies.forgetHashes('of-another-feed' as ReadId);
    t.equal((await bodies.build(READ_ID, FILE, 'image/gif')).representation.etag, etag);
    t.equal(file.bytesRead, 5);
    bodies.forgetHashes(READ_ID);
    await bodies.build(READ_ID, FILE, 'image/gif');
    t.equal(file.bytesRead, 10);
  }
});

t.test('only as many bytes are loaded at once as a cache has room for', async (t) => {
  const file = new OneFile();
  file.sha256 = 'hash';
  const bodies = new FileBodies(file, 5);
  const ask = async () => {
    const { representation } = await bodies.build(READ_ID, FILE, 'image/gif');
    representation.onGrow = () => {};
    await representation.answer(GET);
    return representation.size;
  };
  t.same(await Promise.all(Array.from({ length: 6 }, ask)), [5, 5, 5, 5, 0, 0], 'others are not kept');
  t.equal(await ask(), 5);
});

t.test('a failure is told, not remembered', async (t) => {
  const stored: StoredFile = {
    size: 5,
    modifiedAt: 0,
    sha256: 'hash',
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    async *read() {
      throw new Error('the disk is broken');
    },
  };
  for (const largestKept of [0, 100]) {
    const bodies = new FileBodies({ stat: async () => stored }, largestKept);
    const { representation } = await bodies.build(READ_ID, FILE, 'image/gif');
    for (const request of [GET, GET, HEAD]) await t.rejects(textOf(representation, request), /broken/);
  }
});
