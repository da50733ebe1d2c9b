/** What a reader of a stored body holds. */
import t from 'tap';
import { readInPieces } from '../../src/http/stored-body.ts';
import { eventually } from '../support/eventually.ts';

const LETTERS = Buffer.from('0123456789');

/** A body that gives 4 letters at a time. It records the ranges that were read, and how many readers have a place now. */
function letters() {
  const reads: [start: number, end: number][] = [];
  const body = {
    reads,
    places: 0,
    async *read(start: number, end: number) {
      reads.push([start, end]);
      body.places += 1;
      try {
        for (let at = start; at < end; at += 4) yield LETTERS.subarray(at, Math.min(at + 4, end));
      } finally {
        body.places -= 1;
      }
    },
  };
  return body;
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = [];
  for await (const piece of pieces) texts.push(Buffer.from(piece).toString());
  return texts;
}

t.test('a quick reader gets all of one read, in pieces of the buffer', async (t) => {
  const body = letters();
  t.same(await textOf(readInPieces(body, 1, 10, 3)), ['123', '4', '567', '8', '9']);
  t.same(body.reads, [[1, 10]]);
  t.equal(body.places, 0);
});

t.test('a slow reader leaves its place, and then reads each piece by itself', async (t) => {
  const body = letters();
  const pieces = readInPieces(body, 0, 10, 3);
  t.equal(Buffer.from((await pieces.next()).value!).toString(), '012');
  t.equal(body.places, 1);
  t.ok(await eventually(() => body.places === 0));
  t.same(await textOf(pieces), ['345', '678', '9']);
  t.same(body.reads, [
    [0, 10],
    [3, 6],
    [6, 9],
    [9, 10],
  ]);
});

t.test('a body that ends early is not read for ever', async (t) => {
  const body = { async *read() {} };
  t.same(await textOf(readInPieces(body, 0, 10, 3)), []);
});
