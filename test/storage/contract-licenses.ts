import type { FeedName, NoteId } from '../../src/feeds/names.ts';
import { licenseId } from '../../src/licenses/licenses.ts';
import type { NewLicense } from '../../src/writing/command.ts';
import type { FeedLimits } from '../../src/writing/limits.ts';
import { FAR, licenseFor, PAST } from '../support/licenses.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, writes } from '../support/storing.ts';
import { type Backend, feedName, newNote, runner } from './contract.ts';
import { heard, leavesAll, name, reopened, tally } from './contract-support.ts';

/** What a hosted instance lets feeds hold. */
const HOSTED: FeedLimits = {
  texts: 0,
  images: 0,
  free: { texts: 3, images: 0, picturesRefused: 'license_required', isFree: true },
};

function newLicense(said: { until?: string; feeds?: number; id?: string } = {}): NewLicense {
  const text = licenseFor(said);
  return { text, id: licenseId(text)!, feeds: said.feeds ?? 1 };
}

/** What every storage backend must do with licenses; it is opened with the keys of the tests' issuer. */
export function testLicenses(backend: Backend): void {
  const test = runner(backend);

  test('a license is kept with its feed, and is a change of it', async (t, storage, place) => {
    await post(storage, name, [newNote('x')]);
    const { setLicense, configure } = edits(storage);
    const before = (await storage.feed(name))!;
    t.equal(before.license, undefined);
    const changes = heard(storage);
    const first = newLicense();
    const attached = await setLicense(name, first);
    t.match(attached, { license: { text: first.text, id: first.id }, key: before.key, noteCount: 1 });
    t.not(attached?.version, before.version);
    t.same(changes, [{ readIds: [before.readId] }]);
    t.equal((await configure(name, { title: 'T' }))?.license?.text, first.text);
    const second = newLicense();
    t.match(await setLicense(name, second), { license: { text: second.text }, title: 'T' });
    t.match(await storage.feedByReadId(before.readId), { license: { text: second.text } });

    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { license: { text: second.text } });
    t.match(await edits(again).setLicense(name, undefined), { license: undefined });
    t.equal((await again.feed(name))?.license, undefined);
    t.equal(await edits(again).setLicense(feedName('none'), first), undefined);
    t.equal(await writes(again).setLicense({ ...before, key: 'other' }, first), undefined);
  });

  test('of 64 feeds that get one license for three at once, three have it', async (t, storage) => {
    const feeds = Array.from({ length: 64 }, (_, i) => feedName(`feed-${i}`));
    await Promise.all(feeds.map((feed) => writes(storage).create(feed, NEW)));
    const { setLicense, deleteFeed } = edits(storage);
    const license = newLicense({ feeds: 3 });
    const attach = (feed: FeedName) => setLicense(feed, license);
    t.same(tally(await Promise.allSettled(feeds.map(attach))), { object: 3, taken: 61 });
    const having = async () => {
      const found = await Promise.all(feeds.map((feed) => storage.feed(feed)));
      return found.flatMap((feed) => (feed?.license?.text === license.text ? [feed.name] : []));
    };
    const [first, second, third] = (await having()) as [FeedName, FeedName, FeedName];
    t.equal((await having()).length, 3);
    t.match(
      await attach(first),
      { license: { text: license.text } },
      'a feed that has it may be given it again',
    );

    await setLicense(first, undefined);
    await setLicense(second, newLicense());
    await deleteFeed(third);
    t.same(tally(await Promise.allSettled(feeds.map(attach))), { object: 3, taken: 60, undefined: 1 });
    const anotherText = newLicense({ id: license.id, feeds: 4 });
    t.same(tally(await Promise.allSettled(feeds.map((feed) => setLicense(feed, anotherText)))), {
      object: 4,
      taken: 59,
      undefined: 1,
    });
  });

  test('without a license that counts, the free tier holds, for each write', async (t, storage) => {
    const [text, picture] = [newNote('t'), newNote('p', 'png')];
    await post(storage, name, [picture, text, newNote('t')]);
    const { setLicense, replace, remove } = edits(storage);
    const put = (type: 'md' | 'png') => writes(storage).post(name, [newNote('x', type)], OPEN, HOSTED);
    const write = (id: NoteId) => replace(name, id, Buffer.from('y'), {}, HOSTED);
    const form = () => replace(name, text.id, Buffer.from('y'), { added: [newNote('x', 'png')] }, HOSTED);
    const refused = { code: 'license_required', status: 402 };

    for (const license of [undefined, newLicense({ until: PAST })]) {
      await setLicense(name, license);
      for (const work of [() => put('png'), () => write(picture.id), form])
        await leavesAll(t, storage, work, refused);
      await t.rejects(form(), { code: 'license_required', position: 0 });
      t.ok(await write(text.id));
    }
    t.match(await put('md'), { noteCount: 4 });
    await leavesAll(t, storage, () => put('md'), { code: 'note_limit' });
    await t.rejects(put('md'), { message: /license/ });
    const made = writes(storage).post(feedName('new'), [newNote('x', 'png')], NEW, HOSTED);
    await t.rejects(made, refused);
    t.match(await writes(storage).post(feedName('new'), [newNote('x')], NEW, HOSTED), { noteCount: 1 });

    await setLicense(name, newLicense({ until: FAR }));
    for (const work of [() => put('png'), () => write(picture.id), form, () => put('md')]) t.ok(await work());
    t.match(await storage.feed(name), { noteCount: 7, imageCount: 3 });

    await setLicense(name, undefined);
    await leavesAll(t, storage, () => put('md'), { code: 'note_limit' });
    t.equal(await remove(name, picture.id), true, 'what is stored can be removed');
    t.match(await writes(storage).post(name, [newNote('x', 'png')], OPEN, NO_LIMITS), { imageCount: 3 });
  });

  test('posts while a license comes and goes are each decided by one of the two', async (t, storage) => {
    await writes(storage).create(name, NEW);
    const { setLicense } = edits(storage);
    const license = newLicense();
    const form = () => writes(storage).post(name, [newNote('p', 'png'), newNote('t')], OPEN, HOSTED);
    const works = Array.from({ length: 60 }, (_, i) =>
      i % 6 === 3 ? setLicense(name, i % 4 === 1 ? undefined : license) : form(),
    );
    const all = await Promise.allSettled(works);
    const stored = all.filter(({ status }, i) => status === 'fulfilled' && i % 6 !== 3).length;
    const codes = tally(all);
    t.same(
      Object.keys(codes).filter((code) => code !== 'object' && code !== 'license_required'),
      [],
    );
    t.match(await storage.feed(name), { noteCount: 2 * stored, imageCount: stored });
  });
}
