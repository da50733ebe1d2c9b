/** A client generated from the API description compiles, and works against the running service. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { ask, start } from '../support/service.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

/** Compiled with the client as a user would, and run with the address of the service. */
const PROGRAM = `
import { equal, deepEqual } from 'node:assert/strict';
import { client } from './client/client.gen.ts';
import { formDataBodySerializer } from './client/core/bodySerializer.gen.ts';
import {
  updateFeed, changeFeedPassword, patchNote, postNote, deleteFeed, deleteNote, file, getFeed, getNote,
  listNotes, getReadFeed, listReadNotes, editNote, rss, type Created, type PostNoteErrors, type PostNoteResponses,
  type Note, type NoteForm,
} from './client/index.ts';

const feed = 'garden';
let password = 'rose';
client.setConfig({
  baseUrl: process.argv[2]!,
  auth: ({ type }) => (type === 'http' ? 'instance password' : password),
});

const posted = await postNote({
  path: { feed },
  body: { content: '# Tulips' },
  headers: { 'X-Note-Tags': 'spring', 'X-Note-Title*': "UTF-8''T%C3%BClips" },
});
equal(posted.response?.status, 201);
const note: Created = posted.data!;
const readId = note.read_url!.split('/').at(-2)!;

const second = await postNote({ path: { feed }, body: { content: 'Second' } });
const page = await listNotes({ path: { feed }, query: { limit: 1 } });
deepEqual(page.data?.notes.map(({ id }) => id), [second.data?.id]);
const rest = await listNotes({ path: { feed }, query: { before: page.data?.next ?? '' } });
deepEqual(rest.data?.notes.map(({ title, tags }) => [title, tags]), [['T\\u00fclips', ['spring']]]);

const read: Note | undefined = (await getNote({ path: { feed, id: note.id } })).data;
equal(read?.content, '# Tulips');
equal((await editNote({ path: { feed, id: note.id }, body: 'New' })).data?.size, 3);
equal((await patchNote({ path: { feed, id: note.id }, body: { title: 'Title' } })).data?.title, 'Title');

// Its functions send what the description names first; a form goes through the client itself.
const form: NoteForm = {
  text: '![](tulip 1.gif)',
  file: [new File(['GIF89a'], 'tulip 1.gif', { type: 'image/gif' })],
  'alt.tulip 1.gif': 'A tulip',
};
const pictured = await client.post<PostNoteResponses, PostNoteErrors>({
  ...formDataBodySerializer,
  security: [{ scheme: 'bearer', type: 'http' }, { name: 'X-Feed-Password', type: 'apiKey' }],
  url: '/api/v1/feeds/{feed}/notes',
  path: { feed },
  body: form,
  headers: { 'Content-Type': null },
});
equal(pictured.response?.status, 201);
const tulip: Created = pictured.data!.attachments![0]!;
equal((await getNote({ path: { feed, id: tulip.id } })).data?.alt, 'A tulip');
equal(await (await file({ path: { readId, file: tulip.file }, parseAs: 'text' })).data, 'GIF89a');

const changed = await updateFeed({ path: { feed }, body: { title: 'Garden', description: '' } });
deepEqual([changed.data?.title, changed.data?.protected], ['Garden', true]);
equal((await changeFeedPassword({ path: { feed }, body: { password: 'lily' } })).response?.status, 204);
const refused = await getFeed({ path: { feed } });
const code: 'auth' | string | undefined = refused.error?.code;
equal(code, 'auth');
password = 'lily';
equal((await getFeed({ path: { feed } })).data?.name, feed);

equal((await getReadFeed({ path: { readId } })).data?.title, 'Garden');
equal((await listReadNotes({ path: { readId }, query: { tag: 'spring' } })).data?.notes.length, 1);
equal(await (await file({ path: { readId, file: note.file }, parseAs: 'text' })).data, 'New');
equal((await rss({ path: { readId }, parseAs: 'text' })).response?.status, 200);

equal((await deleteNote({ path: { feed, id: note.id } })).response?.status, 204);
equal((await getNote({ path: { feed, id: note.id } })).error?.code, 'not_found');
equal((await deleteFeed({ path: { feed } })).response?.status, 204);
console.log('done');
`;

const TSCONFIG = {
  extends: join(root, 'tsconfig.json'),
  // The generator's own code is not made for `exactOptionalPropertyTypes`, and wants a browser's types.
  compilerOptions: { exactOptionalPropertyTypes: false, lib: ['es2024', 'dom', 'dom.iterable'] },
  files: ['program.ts'],
  include: [],
};

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

const missing = ['@hey-api/openapi-ts', 'typescript-api'].filter((name) => !isInstalled(name));
const skip = missing.length > 0 && `not installed: ${missing.join(', ')}`;

t.test('a generated client compiles and works', { skip }, async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: 'instance password' });
  const dir = t.testdir();
  const document = join(dir, 'openapi.json');
  await writeFile(document, (await ask(`${url}/api/v1/openapi.json`)).text);
  await writeFile(join(dir, 'program.ts'), PROGRAM);
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  const fixture = join(root, 'test/fixtures/generate-client.ts');
  await run(process.execPath, [fixture, document, join(dir, 'client')]);
  t.match(await readFile(join(dir, 'client/sdk.gen.ts'), 'utf8'), 'export const postNote');
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = await run(process.execPath, [tsc, '-p', dir]).catch((error) => error);
  t.equal(compiled.stdout, '');
  const ran = await run(process.execPath, [join(dir, 'program.ts'), url]).catch((error) => error);
  t.equal(ran.stdout, 'done\n', ran.stderr);
});
