import t from 'tap';
import { noteGuid } from '../../src/feeds/ids.ts';
import type { NoteId, ReadId } from '../../src/feeds/names.ts';

const guid = (readId: string, id: string) => noteGuid(readId as ReadId, id as NoteId);
const UUID = '6f1f7a2e-0a35-4a51-9d2c-7c3b5c8e6f42';

t.test('the UUID of the id, wherever the note is read', async (t) => {
  t.equal(guid('one', `20260228T120005Z-${UUID}`), `urn:uuid:${UUID}`);
  t.equal(guid('two', `20260228T120005Z-${UUID.toUpperCase()}`), `urn:uuid:${UUID}`);
});

t.test('else a name-based UUID of read id and id', async (t) => {
  // python3: uuid.uuid5(uuid.UUID('1b0c1f7a-0a35-4a51-9d2c-7c3b5c8e6f42'), 'one/Einkauf für heute')
  t.equal(guid('one', 'Einkauf für heute'), 'urn:uuid:670bc6d9-a7ed-5212-8d5a-bb88d7454d39');
  t.not(guid('two', 'Einkauf für heute'), guid('one', 'Einkauf für heute'));
  t.not(guid('one', 'Einkauf'), guid('one', 'Einkauf für heute'));
  t.match(guid('one', 'a\ud800'), /^urn:uuid:[0-9a-f-]{36}$/);
});
