import fc from 'fast-check';
import t from 'tap';
import { isoTime } from '../../src/telemetry/log.ts';

t.test('it is what Date says, whichever way the clock goes', async () => {
  const steps = fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.nat(4e12), steps, (start, moves) => {
      let time = start + 1e6;
      return moves.every((move) => {
        time += move;
        return isoTime(time) === new Date(time).toISOString();
      });
    }),
  );
});
