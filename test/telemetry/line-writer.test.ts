import { closeSync, openSync } from 'node:fs';
import t from 'tap';
import { LineWriter } from '../../src/telemetry/line-writer.ts';

t.test('lines beyond what may be held are counted, also after their loss was told', async (t) => {
  const nowhere = openSync('/dev/null', 'w');
  t.teardown(() => closeSync(nowhere));
  const told = Promise.withResolvers<number>();
  const writer = new LineWriter(nowhere, { maxHeld: 10, onLost: told.resolve });
  t.equal(writer.lost, 0);
  writer.write('12345678\n');
  writer.write('is too much\n');
  writer.write('this too\n');
  t.equal(writer.lost, 2);
  t.equal(await told.promise, 2);
  t.equal(writer.lost, 2);
});
