import { hash } from 'node:crypto';
import t from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import { Preparation } from '../../src/ingest/preparation.ts';
import { picture } from '../support/pictures.ts';

t.test('a picture that the operator has closed is refused before anything is stored', async (t) => {
  const [good, bad] = [picture('png'), picture('png', 64, 1)];
  const closed = hash('sha256', bad, 'base64url');
  const find = async (_kind: string, keys: readonly string[]) =>
    keys.filter((key) => key === closed).map((key) => ({ kind: 'picture' as const, key, value: '', at: 0 }));
  // Small pictures, and no text: neither needs a thread.
  const [checks, texts] = [{} as never, {} as never];
  const preparation = new Preparation({ checks, texts, ids: new NoteIds(), records: { find } });
  const pictures = Object.entries({ good, bad }).map(
    ([name, bytes]) => ({ type: 'png', meta: { name, tags: [] }, bytes }) as const,
  );
  const sender = { client: '192.0.2.1', isAborted: false, sender: undefined };
  await t.rejects(preparation.prepare({ text: undefined, pictures, isForm: true }, sender), {
    code: 'blocked',
    status: 451,
    message: /^attachment "bad": /,
  });
});
