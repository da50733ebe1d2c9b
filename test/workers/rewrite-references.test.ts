import { Piscina } from 'piscina';
import t from 'tap';
import rewriteReferences from '../../workers/rewrite-references.ts';

const pictures = [{ name: 'a.png', file: '20261121T101112Z-1.png' }];
const text = '\ufeff😀 ![é](a.png)\0\r\n';
const expected = Buffer.from('\ufeff😀 ![é](20261121T101112Z-1.png)\0\r\n');

t.test('bytes become bytes, and all but the destination stays', async (t) => {
  t.equal(Buffer.compare(rewriteReferences({ bytes: Buffer.from(text), pictures }), expected), 0);
  const same = rewriteReferences({ bytes: Buffer.from(text), pictures: [] });
  t.equal(Buffer.compare(same, Buffer.from(text)), 0);
});

t.test('the bytes may be a part of shared memory', async (t) => {
  const memory = new SharedArrayBuffer(1024);
  const bytes = new Uint8Array(memory, 100, Buffer.byteLength(text));
  bytes.set(Buffer.from(text));
  t.equal(Buffer.compare(rewriteReferences({ bytes, pictures }), expected), 0);
});

t.test('a thread answers with bytes in a buffer of their own', async (t) => {
  const filename = new URL('../../workers/rewrite-references.ts', import.meta.url).href;
  const pool = new Piscina({ filename, maxThreads: 1 });
  t.teardown(() => pool.destroy());
  const bytes: Uint8Array = await pool.run({ bytes: Buffer.from(text), pictures });
  t.equal(Buffer.compare(bytes, expected), 0);
  t.equal(bytes.buffer.byteLength, bytes.length);
});
