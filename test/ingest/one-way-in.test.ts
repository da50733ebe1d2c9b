/** A request to the API, a form and a tool make the same call: `Posting.post` with the same values. */
import t from 'tap';
import { Access, type Caller } from '../../src/access/access.ts';
import { Unlocks } from '../../src/access/cookies.ts';
import { Passwords } from '../../src/access/passwords.ts';
import { NoteIds } from '../../src/feeds/ids.ts';
import { PictureTexts } from '../../src/ingest/picture-texts.ts';
import { Posting } from '../../src/ingest/post.ts';
import { Preparation } from '../../src/ingest/preparation.ts';
import type { Submission } from '../../src/ingest/submission.ts';
import type { BodyRequest } from '../../src/requests/bodies.ts';
import { admitPost } from '../../src/requests/read-submission.ts';
import { WorkerPool } from '../../src/worker-pool.ts';
import { FORM_TYPE, field, formBody } from '../support/multipart.ts';
import { openBackend } from '../support/open-backend.ts';
import { tempDir } from '../support/service.ts';
import { NO_LIMITS, reads } from '../support/storing.ts';

const TEXT = '# Same\n\nnote';
const RULES = { maxImageBytes: 1000, limits: NO_LIMITS };

function request(body: Uint8Array, fields: Record<string, string>): BodyRequest {
  const header = (name: string) => fields[name];
  return {
    contentLength: body.length,
    header,
    body: async (_, onPiece) => {
      const shared = new Uint8Array(new SharedArrayBuffer(body.length));
      shared.set(body);
      onPiece?.(shared);
      return shared;
    },
  };
}

/** The ways in which one note may come, as the values that they make of it. */
const WAYS: Record<string, () => Promise<Submission>> = {
  'the API': admitPost(
    request(Buffer.from(TEXT), {
      'content-type': 'text/markdown',
      'x-note-title': 'T',
      'x-note-tags': 'b,a',
    }),
    RULES,
  ).read,
  'a form': async () => {
    const fields = { 'content-type': FORM_TYPE, 'x-note-tags': 'b,a', 'x-note-title': 'T' };
    return admitPost(request(formBody([field('text', TEXT)]), fields), RULES).read();
  },
  'a tool': async () => ({
    text: { type: 'md', meta: { title: 'T', tags: ['b', 'a'] }, bytes: Buffer.from(TEXT) },
    pictures: [],
    isForm: true,
  }),
};

const storage = await openBackend(await tempDir(t));
t.teardown(() => storage.close());
const pool = new WorkerPool({ threads: 1, maxQueue: 10 });
t.teardown(() => pool.drain());
const passwords = new Passwords(pool, Buffer.alloc(32));
const access = new Access({
  password: undefined,
  sessions: undefined,
  unlocks: new Unlocks(Buffer.alloc(32)),
  rateLimit: 0,
  passwords,
  storage,
  renewal: { renew: async () => false },
  reservedFeeds: new Set(),
  reservedPassword: undefined,
});
const texts = new PictureTexts({ texts: pool, slowTexts: pool }, 1000);
const posting = new Posting({
  storage,
  access,
  passwords,
  preparation: new Preparation({ checks: pool, texts, ids: new NoteIds(), records: storage.records }),
  record: () => {},
  limits: NO_LIMITS,
  allowCustomIds: true,
  reservedFeeds: new Set(),
});
const caller: Caller = {
  client: '192.0.2.1',
  requestId: 'a request',
  bearer: undefined,
  session: undefined,
  feedPassword: undefined,
  unlock: undefined,
  sender: undefined,
  isAborted: false,
};

t.test('each way ends in the same call, and stores the same note', async (t) => {
  for (const [way, read] of Object.entries(WAYS)) {
    const submission = await read();
    const named = await access.requirePoster(caller, 'stoat');
    const { note, feed } = await posting.post(posting.admit(named, ''), submission, caller);
    const stored = await reads(storage).note(feed.name, note.id);
    t.match(stored, { type: 'md', size: TEXT.length, meta: { title: 'T', tags: ['b', 'a'] } }, way);
    t.equal(Buffer.from(stored!.content!).toString(), TEXT, way);
  }
  t.equal((await storage.feed((await access.requireReader(caller, 'stoat')).name))?.noteCount, 3);
});

t.test('a signed-in person is the sender, whatever the way', async (t) => {
  const named = await access.requirePoster(caller, 'stoat');
  const submission = await WAYS['a tool']!();
  const signedIn = { ...caller, sender: 'Ada' };
  const { note, feed } = await posting.post(posting.admit(named, ''), submission, signedIn);
  t.equal((await reads(storage).note(feed.name, note.id))?.meta.sender, 'Ada');
});
