/** deploy/note-feed-service.service. */
import { readFileSync } from 'node:fs';
import t from 'tap';

const UNIT = new URL('../../deploy/note-feed-service.service', import.meta.url);

/** Settings by section. */
function sections(text: string): Record<string, Record<string, string>> {
  const parts = text.split(/^\[(\w+)\]$/m).slice(1);
  const found: Record<string, Record<string, string>> = {};
  for (let i = 0; i < parts.length; i += 2)
    found[parts[i]!] = Object.fromEntries(
      [...parts[i + 1]!.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
  return found;
}

t.test('a start that fails is tried again for ever, but not in a loop', async (t) => {
  const { Unit, Service } = sections(readFileSync(UNIT, 'utf8'));
  t.equal(Unit?.StartLimitIntervalSec, '0');
  t.match(Service, { Restart: 'on-failure', RestartSec: '5' });
});
