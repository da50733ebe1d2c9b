import fc from 'fast-check';
import t from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../../src/feeds/note.ts';
import type { NoteType } from '../../src/feeds/note-types.ts';
import { Refusal } from '../../src/refusals.ts';
import type { Command, Configure, Describe, Post, Replace } from '../../src/writing/command.ts';
import { decide, type Effects, type State, type WritingRules } from '../../src/writing/decide.ts';
import { dueOf } from '../../src/writing/due.ts';
import { feedEtag, noteEtag } from '../../src/writing/etags.ts';
import { type FeedLimits, NO_LIMITS } from '../../src/writing/limits.ts';

const name = 'kiwi' as FeedName;
const readId = 'shown' as ReadId;
const NOW = 1_000;
const RULES: WritingRules = { maxFeeds: 0, maxBytes: 0, keepDays: 0, isLicenseValid: undefined };
const FEED: Feed = {
  key: '7',
  name,
  readId,
  title: 'T',
  description: '',
  showSender: true,
  listed: false,
  image: undefined,
  passwordHash: 'hash',
  license: undefined,
  keepDays: undefined,
  keepNotes: undefined,
  changedAt: 5,
  version: '5',
  noteCount: 3,
  imageCount: 1,
  byteCount: 9,
  isBlocked: false,
};
const target = { kind: 'existing', key: '7', passwordHash: 'hash' } as const;
const newTarget = { kind: 'new', readId, passwordHash: undefined } as const;

let made = 0;
const newNote = (type: NoteType = 'md'): NewNote => {
  made += 1;
  return { id: `${made}` as NoteId, type, meta: { tags: [] }, bytes: new Uint8Array([made % 256]) };
};
const note = (type: NoteType = 'md', meta: Note['meta'] = { tags: [] }): Note => {
  const content = type === 'md' ? new Uint8Array([1, 2]) : undefined;
  return { id: 'one' as NoteId, type, size: 2, createdAt: 1, modifiedAt: 1, meta, content };
};
const posting = (
  notes: readonly NewNote[],
  limits: FeedLimits = NO_LIMITS,
  to: Post['target'] = target,
): Post => ({
  ...{ kind: 'post', name, target: to, notes, limits },
});
const onNote = { name, target, id: 'one' as NoteId };
const replacing = (type: NoteType, notes: readonly NewNote[] = [], limits = NO_LIMITS): Replace => ({
  ...{ kind: 'replace', ...onNote, content: { type, bytes: new Uint8Array(9) }, notes, limits },
});
const describing = (meta: Describe['meta']): Describe => ({ kind: 'describe', ...onNote, meta });
const configuring = (settings: Configure['settings']): Configure => ({
  kind: 'configure',
  name,
  target,
  settings,
});

/** The code of the refusal, or what is decided. */
function outcome(command: Command, state: Partial<State> = {}, rules = RULES): string | Effects | undefined {
  try {
    return decide(command, { now: NOW, feed: FEED, ...state }, rules);
  } catch (error) {
    if (error instanceof Refusal)
      return error.position === undefined ? error.code : `${error.code} at ${error.position}`;
    throw error;
  }
}

const COMMANDS: readonly Command[] = [
  posting([newNote()]),
  { kind: 'import', name, target, notes: [newNote()], limits: NO_LIMITS },
  replacing('md'),
  describing({ title: 'x' }),
  { kind: 'remove', ...onNote },
  configuring({ title: 'x' }),
  { kind: 'set password', name, target, passwordHash: 'other' },
  { kind: 'set license', name, target, license: undefined },
  { kind: 'delete', name, target },
];

t.test('a command finds only the feed that it is for', async (t) => {
  const others: (Feed | undefined)[] = [
    undefined,
    { ...FEED, key: '8' },
    { ...FEED, passwordHash: undefined },
    { ...FEED, passwordHash: 'another' },
  ];
  for (const command of COMMANDS) {
    const found = 'id' in command ? { note: note() } : {};
    t.type(outcome(command, found), 'object', command.kind);
    for (const feed of others) t.equal(outcome(command, { feed, ...found }), undefined, command.kind);
  }
  t.equal(outcome(posting([], NO_LIMITS, newTarget)), undefined, 'a new feed, where there is one');
  const anyKey = { kind: 'existing', passwordHash: 'hash' } as const;
  t.type(outcome(posting([newNote()], NO_LIMITS, anyKey), { feed: { ...FEED, key: '8' } }), 'object');
  for (const command of COMMANDS.filter((command) => 'id' in command))
    t.equal(outcome(command, { note: undefined }), undefined, `${command.kind}: no such note`);
});

const FREE: FeedLimits = {
  texts: 9,
  images: 9,
  free: { texts: 4, images: 9, picturesRefused: 'license_required' },
};
const [license, other] = [
  { text: 'valid', id: 'a' },
  { text: 'over', id: 'b' },
];
const HOSTED: WritingRules = {
  maxFeeds: 0,
  maxBytes: 0,
  keepDays: 0,
  isLicenseValid: (text) => text === 'valid',
};
const [text, picture] = [() => newNote(), () => newNote('png')];

/** The note of a key; `posted` is undefined if somebody wrote the key by hand. */
const holder = (posted: NoteMeta['posted'], expires?: number) =>
  note('md', { tags: [], key: 'k', posted, expires });
const keyed = (hash: string, limits = NO_LIMITS): Post =>
  posting([{ ...newNote(), meta: { tags: [], key: 'k', posted: { hash } } }], limits);

const REFUSALS: readonly [string, Command, Partial<State>, string | undefined, WritingRules?][] = [
  ['texts up to the limit', posting([text()], { texts: 3, images: 0 }), {}, undefined],
  ['a text too many', posting([text(), text()], { texts: 3, images: 0 }), {}, 'note_limit at 1'],
  ['a picture too many', posting([text(), picture()], { texts: 0, images: 1 }), {}, 'image_limit at 1'],
  ['the other kind beyond a lowered limit', posting([picture()], { texts: 1, images: 5 }), {}, undefined],
  [
    'pictures are off',
    posting([text(), picture()], { texts: 1, images: 1, picturesRefused: 'images_off' }),
    {},
    'images_off at 1',
  ],
  ['an edit of a full feed', replacing('md', [], { texts: 1, images: 1 }), { note: note() }, undefined],
  [
    'a picture with an edit',
    replacing('md', [picture()], { texts: 1, images: 1 }),
    { note: note() },
    'image_limit at 0',
  ],
  [
    'a replaced picture, pictures off',
    replacing('png', [], { texts: 0, images: 0, picturesRefused: 'images_off' }),
    { note: note('png') },
    'images_off',
  ],
  ['another type', replacing('png'), { note: note() }, 'unsupported_type'],
  ['another picture type', replacing('png'), { note: note('gif') }, 'unsupported_type'],
  ['an alt of a text', describing({ alt: 'A' }), { note: note() }, 'invalid_request'],
  ['an alt of a picture', describing({ alt: 'A' }), { note: note('png') }, undefined],
  ['free tier: a picture', posting([picture()], FREE), {}, 'license_required at 0', HOSTED],
  ['free tier: the texts', posting([text(), text(), text()], FREE), {}, 'note_limit at 2', HOSTED],
  ['a valid license', posting([picture()], FREE), { feed: { ...FEED, license } }, undefined, HOSTED],
  [
    'a license that is over',
    posting([picture()], FREE),
    { feed: { ...FEED, license: other } },
    'license_required at 0',
    HOSTED,
  ],
  [
    'a new feed is free',
    posting([picture()], FREE, newTarget),
    { feed: undefined },
    'license_required at 0',
    HOSTED,
  ],
  [
    'one feed too many',
    posting([], NO_LIMITS, newTarget),
    { feed: undefined, feeds: 4 },
    'feed_limit',
    { ...RULES, maxFeeds: 4, maxBytes: 0, keepDays: 0 },
  ],
  [
    'the last feed',
    posting([], NO_LIMITS, newTarget),
    { feed: undefined, feeds: 3 },
    undefined,
    { ...RULES, maxFeeds: 4, maxBytes: 0, keepDays: 0 },
  ],
  [
    'a new read id of another feed',
    posting([], NO_LIMITS, newTarget),
    { feed: undefined, readIdHolder: 'other' as FeedName },
    'taken',
  ],
  [
    'a new read id of a deleted feed',
    posting([], NO_LIMITS, newTarget),
    { feed: undefined, readIdHolder: null },
    'taken',
  ],
  [
    'a chosen read id of another feed',
    configuring({ readId: 'x' as ReadId }),
    { readIdHolder: 'other' as FeedName },
    'taken',
  ],
  [
    'a chosen read id of a deleted feed',
    configuring({ readId: 'x' as ReadId }),
    { readIdHolder: null },
    'taken',
  ],
  ['its own read id', configuring({ readId }), { readIdHolder: name }, undefined],
  [
    'a title image that is not there',
    configuring({ image: 'x.png' as NoteFile }),
    { hasImage: false },
    'invalid_request',
  ],
  [
    'a title image that is not there and a read id of another feed',
    configuring({ image: 'x.png' as NoteFile, readId: 'x' as ReadId }),
    { hasImage: false, readIdHolder: 'other' as FeedName },
    'invalid_request',
  ],
  ['a title image', configuring({ image: 'x.png' as NoteFile }), { hasImage: true }, undefined],
  [
    'a title image that is a text',
    configuring({ image: 'x.md' as NoteFile }),
    { hasImage: true },
    'invalid_request',
  ],
  [
    'a license in use',
    { kind: 'set license', name, target, license: { ...license, feeds: 2 } },
    { licensed: 2 },
    'taken',
  ],
  ['another post under a key', keyed('b'), { note: holder({ hash: 'a' }) }, 'key_reused'],
  ['a key that somebody wrote by hand', keyed('b'), { note: holder(undefined) }, 'key_reused'],
  [
    'the same post again, in a full feed',
    keyed('a', { texts: 1, images: 1 }),
    { note: holder({ hash: 'a' }) },
    undefined,
  ],
  ['a key that has expired', keyed('b'), { note: holder({ hash: 'a' }, NOW) }, undefined],
  [
    'a key that has expired, in a full feed',
    keyed('b', { texts: 2, images: 1 }),
    { note: holder({ hash: 'a' }, NOW) },
    undefined,
  ],
  ['another type by key', { ...keyed('b'), replaces: true }, { note: note('png') }, 'unsupported_type'],
  ['an edit of what has expired', replacing('md'), { note: holder(undefined, NOW) }, 'nothing'],
  [
    'a deletion of what has expired',
    { kind: 'remove', ...onNote },
    { note: holder(undefined, NOW) },
    'nothing',
  ],
  ['an edit of what expires', replacing('md'), { note: holder(undefined, NOW + 1) }, undefined],
  [
    'an edit of the version that was read',
    { ...replacing('md'), ifMatch: ['x', noteEtag(note(), FEED)] },
    { note: note() },
    undefined,
  ],
  [
    'an edit of another version',
    { ...replacing('md'), ifMatch: [noteEtag(holder(undefined), FEED)] },
    { note: note() },
    'changed',
  ],
  [
    'metadata of another version',
    { ...describing({ title: 'x' }), ifMatch: [] },
    { note: note() },
    'changed',
  ],
  [
    'a deletion of another version',
    { kind: 'remove', ...onNote, ifMatch: ['x'] },
    { note: note() },
    'changed',
  ],
  ['settings for a feed of as many notes', { ...configuring({ title: 'x' }), maxNotes: 3 }, {}, undefined],
  ['settings for a feed of fewer', { ...configuring({ title: 'x' }), maxNotes: 2 }, {}, 'changed'],
  ['settings that were read', { ...configuring({ title: 'x' }), ifMatch: [feedEtag(FEED)] }, {}, undefined],
  [
    'settings of another version',
    { ...configuring({ title: 'x' }), ifMatch: [feedEtag({ ...FEED, keepDays: 1 })] },
    {},
    'changed',
  ],
  ['a feed that changed, to be deleted', { kind: 'delete', name, target, ifMatch: ['x'] }, {}, 'changed'],
  [
    'a license that serves one more',
    { kind: 'set license', name, target, license: { ...license, feeds: 2 } },
    { licensed: 1 },
    undefined,
  ],
];

for (const [what, command, state, expected, rules] of REFUSALS)
  t.test(what, async (t) => {
    const decided = outcome(command, state, rules);
    t.equal(typeof decided === 'object' ? undefined : (decided ?? 'nothing'), expected);
  });

t.test('what is decided is the feed afterwards', async (t) => {
  const effects = (command: Command, state: Partial<State> = {}) => outcome(command, state) as Effects;
  const image = 'one.png' as NoteFile;
  t.match(effects(posting([picture(), text()])), { fate: 'changed', feed: { noteCount: 5, imageCount: 2 } });
  t.match(effects(posting([picture()], NO_LIMITS, newTarget), { feed: undefined }), {
    ...{ fate: 'made', feed: { name, readId, noteCount: 1, imageCount: 1, showSender: true } },
  });
  const own = { ...newTarget, readId: name as string as ReadId };
  const again: Partial<State> = { feed: undefined, readIdHolder: null };
  t.match(effects(posting([], NO_LIMITS, own), again), { fate: 'made', reclaimsReadId: true });
  t.match(effects({ kind: 'remove', ...onNote }, { feed: { ...FEED, image }, note: note('png') }), {
    ...{ feed: { noteCount: 2, imageCount: 0, image: undefined }, edit: { after: undefined } },
  });
  t.match(effects({ kind: 'remove', ...onNote }, { feed: { ...FEED, image }, note: note() }).feed, { image });
  t.match(effects(replacing('md', [picture()]), { note: note() }), {
    ...{ feed: { noteCount: 4 }, edit: { before: { size: 2 }, after: { size: 9 }, content: { type: 'md' } } },
  });
  t.equal(effects(configuring({ title: 'T', image: undefined })).fate, 'unchanged');
  t.match(effects(configuring({ title: '', showSender: false })), {
    ...{ fate: 'changed', feed: { title: '', showSender: false, description: '' } },
  });
  t.match(effects({ kind: 'delete', name, target }), { fate: 'deleted', feed: FEED, readIds: [readId] });
  t.same(effects(configuring({ readId: 'other' as ReadId })).readIds, [readId, 'other']);
  t.same(effects(posting([text()])).readIds, [readId]);
  const meta = { title: 'T', alt: 'A', name: 'n.png', sender: 'S', tags: ['a'] };
  const described = (change: Describe['meta']) =>
    effects(describing(change), { note: note('png', meta) }).edit?.after?.meta;
  t.same(described({ title: '' }), { ...meta, title: undefined, edited: NOW });
  t.same(described({ tags: [] }), { ...meta, tags: [], edited: NOW });
  t.same(described({ title: 'U', alt: 'B' }), { ...meta, title: 'U', alt: 'B', edited: NOW });
  t.same(described({ alt: 'B' }), { ...meta, alt: 'B', edited: NOW });
  t.same(described({ title: 'T', tags: ['a'], expires: 5 }), { ...meta, expires: 5 }, 'no edit');
  t.equal(effects(replacing('md'), { note: note() }).edit?.after?.meta.edited, NOW);
  t.equal(effects(posting([text()])).added[0]?.meta.edited, undefined);
  const pixels = { width: 4, height: 3, bytes: 9 };
  const turned = (command: Replace) => effects(command, { note: note('png', { tags: [], pixels }) }).note;
  t.equal(turned(replacing('png'))?.meta.pixels, undefined, 'those of the old picture go');
  t.same(turned({ ...replacing('png'), pixels: { ...pixels, width: 3 } })?.meta.pixels?.width, 3);
  const later = effects(replacing('md'), { note: { ...note(), modifiedAt: NOW } });
  t.equal(later.note?.modifiedAt, NOW + 1, 'never the same time as before');
});

t.test('a picture that comes with a text says with which', async (t) => {
  const cameWith = (command: Command, state: Partial<State> = {}) =>
    (outcome(command, state) as Effects).added.map(({ meta }) => meta.attachedTo);
  const form = () => {
    const notes = [picture(), picture(), text()];
    return { notes, ids: [notes[2]!.id, notes[2]!.id, undefined] };
  };
  const [one, first] = [form(), form()];
  t.same(cameWith(posting(one.notes)), one.ids);
  t.same(cameWith(posting(first.notes, NO_LIMITS, newTarget), { feed: undefined }), first.ids);
  t.same(cameWith(posting([picture(), picture()])), [undefined, undefined]);
  t.same(cameWith(replacing('md', [picture()]), { note: note() }), ['one']);
  const underKey = (): Post => {
    const [shown, sent] = [picture(), keyed('b').notes[0]!];
    return { ...posting([shown, sent]), replaces: true };
  };
  t.same(cameWith(underKey(), { note: holder({ hash: 'a' }) }), ['one'], 'the id stays');
  const made = underKey();
  t.same(cameWith(made), [made.notes[1]!.id, undefined]);
});

t.test('what a key means', async (t) => {
  const effects = (command: Command, found: Note) => outcome(command, { note: found }) as Effects;
  const first = holder({ hash: 'a' });
  t.match(effects(keyed('a'), first), { fate: 'unchanged', added: [], note: first, feed: FEED });
  const replacing = { ...keyed('b'), replaces: true };
  const [posted] = replacing.notes;
  const replaced = effects(replacing, first);
  t.match(replaced, {
    fate: 'changed',
    added: [],
    feed: { noteCount: 3 },
    edit: { before: first, content: posted },
  });
  t.match(replaced.note, { id: first.id, createdAt: 1, modifiedAt: NOW, size: 1 });
  t.same(replaced.note?.meta, { ...posted!.meta, edited: NOW });
  const expired = holder({ hash: 'a' }, NOW);
  const taken = effects(keyed('a'), expired);
  t.match(taken, {
    fate: 'changed',
    added: [{}],
    feed: { noteCount: 3 },
    edit: { before: expired, after: undefined },
  });
  t.equal(taken.note, undefined, 'a text is as it was sent');
  const image = 'one.png' as NoteFile;
  const old = note('png', { tags: [], key: 'k', expires: NOW });
  t.equal((outcome(keyed('a'), { note: old, feed: { ...FEED, image } }) as Effects).feed.image, undefined);
  const shot = outcome(posting([picture()])) as Effects;
  t.match(shot.note, { id: shot.added[0]!.id, modifiedAt: NOW });
});

t.test('a sweep removes what is due', async (t) => {
  const sweep = { kind: 'sweep', name, target } as const;
  t.equal((outcome(sweep) as Effects).fate, 'unchanged');
  const [due, image] = [[note('md'), { ...note('png'), id: 'two' as NoteId }], 'two.png' as NoteFile];
  const swept = outcome(sweep, { due, feed: { ...FEED, image } }) as Effects;
  t.match(swept, { fate: 'changed', removed: due, feed: { noteCount: 1, imageCount: 0, image: undefined } });
  const day = 24 * 60 * 60_000;
  const times: [keepDays: number | undefined, most: number, days: number | undefined][] = [
    [undefined, 0, undefined],
    [3, 0, 3],
    [undefined, 9, 9],
    [3, 9, 3],
    [30, 9, 9],
  ];
  for (const [keepDays, most, days] of times) {
    const { before } = dueOf({ ...FEED, keepDays }, 10 * day, most);
    t.equal(before, days === undefined ? undefined : (10 - days) * day);
  }
});

/** Notes of a feed that the decided effects are applied to, one command after the other. */
const step = fc.record({
  kind: fc.constantFrom('post', 'post', 'replace', 'remove'),
  types: fc.array(fc.constantFrom<NoteType>('md', 'png', 'gif'), { minLength: 1, maxLength: 4 }),
  which: fc.nat(20),
});

t.test('whatever is done, counts are true and limits hold', async () => {
  fc.assert(
    fc.property(fc.array(step), fc.nat(6), fc.nat(6), (steps, notes, images) => {
      const limits: FeedLimits = { texts: notes, images };
      const stored: Note[] = [];
      let feed: Feed = { ...FEED, noteCount: 0, imageCount: 0 };
      for (const { kind, types, which } of steps) {
        const named = stored[which % Math.max(1, stored.length)];
        const added = types.map(newNote);
        const command: Command =
          kind === 'post'
            ? posting(added, limits)
            : kind === 'replace'
              ? replacing(named?.type ?? 'md', added, limits)
              : { kind: 'remove', ...onNote };
        const before = feed;
        const decided = outcome(command, { feed, note: named });
        if (typeof decided === 'string' || decided === undefined) continue;
        feed = decided.feed;
        if (decided.edit) stored.splice(stored.indexOf(decided.edit.before), 1);
        if (decided.edit?.after) stored.push(decided.edit.after);
        stored.push(...decided.added.map(({ id, type, meta }) => ({ ...note(type, meta), id })));
        const pictures = stored.filter(({ type }) => type !== 'md').length;
        if (feed.noteCount !== stored.length || feed.imageCount !== pictures) return false;
        const grew = (limit: number, now: number, was: number) => limit > 0 && now > limit && now > was;
        if (grew(images, pictures, before.imageCount)) return false;
        const texts = stored.length - pictures;
        if (grew(notes, texts, before.noteCount - before.imageCount)) return false;
      }
      return true;
    }),
  );
});

t.test(
  'notes are imported one by one: not what is there, what does not fit, or what has the key of another',
  (t) => {
    const keyed = (key: string) => ({ ...newNote(), meta: { tags: [], key } });
    const [there, fits, held, twice, same, picture, last] = [
      ...[newNote(), newNote(), keyed('held'), keyed('two'), keyed('two'), newNote('png'), newNote()],
    ] as [NewNote, ...NewNote[]];
    const state = {
      present: new Set([`${there.id}.md` as NoteFile]),
      heldKeys: new Set(['held']),
    };
    const limits: FeedLimits = { texts: 4, images: 0, picturesRefused: 'images_off' };
    const notes = [there, fits, held, twice, same, picture, last] as NewNote[];
    const command: Command = { kind: 'import', name, target, notes, limits };
    const effects = outcome(command, state) as Effects;
    t.same(
      effects.outcomes!.map((one) => (typeof one === 'string' ? one : one.code)),
      ['skipped', 'stored', 'key_reused', 'stored', 'key_reused', 'images_off', 'note_limit'],
    );
    t.same(effects.added, [fits, twice]);
    t.match(effects, { fate: 'changed', feed: { noteCount: 5, imageCount: 1 } });
    const nothing = outcome({ ...command, notes: [there] }, state) as Effects;
    t.match(nothing, { fate: 'unchanged', outcomes: ['skipped'] });
    t.equal(outcome({ ...command, target: { ...target, passwordHash: 'other' } }, state), undefined);
    const making: Command = { ...command, target: newTarget };
    const made = outcome({ ...making, notes: [picture!, last!] }, { feed: undefined }) as Effects;
    t.match(made, { fate: 'made', added: [last], outcomes: [{ code: 'images_off' }, 'stored'] });
    t.equal(outcome({ ...making, notes: [picture!] }, { feed: undefined }), 'images_off at 0');
    t.end();
  },
);

t.test('bytes are counted, and limited in a feed and in the instance', async (t) => {
  const bytes = (count: number) => ({ ...newNote(), bytes: new Uint8Array(count) });
  const limited = (notes: readonly NewNote[], most = 20) => posting(notes, { ...NO_LIMITS, bytes: most });
  const full = { ...RULES, maxBytes: 100 };
  const counted = (result: ReturnType<typeof outcome>) =>
    typeof result === 'object' ? result.feed.byteCount : result;
  t.equal(counted(outcome(limited([bytes(5), bytes(6)]))), 20, 'exactly as many');
  t.equal(outcome(limited([bytes(5), bytes(7)])), 'byte_limit at 1');
  t.equal(counted(outcome(posting([bytes(10)]), { bytes: 90 }, full)), 19);
  t.equal(outcome(posting([bytes(11)]), { bytes: 90 }, full), 'byte_limit at 0');
  t.equal(
    outcome(posting([bytes(1)], NO_LIMITS, newTarget), { feed: undefined, bytes: 100 }, full),
    'byte_limit at 0',
  );
  t.equal(counted(outcome(replacing('md'), { note: note() })), 9 - 2 + 9, 'other bytes in place of those');
  t.equal(outcome(replacing('md', [], { ...NO_LIMITS, bytes: 15 }), { note: note() }), 'byte_limit');
  const withPicture = (most: number) => replacing('md', [picture()], { ...NO_LIMITS, bytes: most });
  t.equal(counted(outcome(withPicture(17), { note: note() })), 17);
  t.equal(outcome(withPicture(16), { note: note() }), 'byte_limit', 'with the pictures that it brings');
  const importing: Command = { kind: 'import', name, target, notes: [bytes(6), bytes(6)], limits: NO_LIMITS };
  t.match(outcome(importing, { bytes: 90 }, full), { outcomes: ['stored', { code: 'byte_limit' }] });
  t.equal(
    counted(outcome(replacing('md'), { note: { ...note(), size: 12 }, bytes: 200 }, full)),
    6,
    'fewer always fit',
  );
  t.equal(counted(outcome({ kind: 'remove', ...onNote }, { note: note() })), 7);
});

t.test('a feed that is blocked takes nothing more, and a blocked name gets no feed', async (t) => {
  const feed = { ...FEED, isBlocked: true };
  const kept = new Set<Command['kind']>(['remove', 'set password', 'set license', 'delete', 'sweep']);
  for (const command of [...COMMANDS, { kind: 'sweep', name, target } as const]) {
    const result = outcome(command, { feed, note: note() });
    if (kept.has(command.kind)) t.type(result, 'object', command.kind);
    else t.equal(result, 'blocked', command.kind);
  }
  t.equal(
    outcome(posting([text()], NO_LIMITS, newTarget), { feed: undefined, isNameBlocked: true }),
    'blocked',
  );
});

t.test('a picture that is blocked is taken nowhere', async (t) => {
  const [good, bad] = [
    { ...newNote('png'), sha256: 'good' },
    { ...newNote('gif'), sha256: 'bad' },
  ];
  const state = { blockedPictures: new Set(['bad']) };
  t.equal(outcome(posting([good, bad, newNote()]), state), 'blocked at 1');
  t.equal(
    outcome(posting([bad], NO_LIMITS, newTarget), { ...state, feed: undefined }),
    'blocked at 0',
    'in a new feed',
  );
  t.type(outcome(posting([good]), state), 'object');
  t.equal(outcome(replacing('md', [good, bad]), { ...state, note: note() }), 'blocked at 1');
  const content = { type: 'gif', bytes: bad.bytes, sha256: 'bad' } as const;
  t.equal(outcome({ ...replacing('gif'), content }, { ...state, note: note('gif') }), 'blocked at 0');
  const importing: Command = { kind: 'import', name, target, notes: [bad, good], limits: NO_LIMITS };
  t.match(outcome(importing, state), { added: [good], outcomes: [{ code: 'blocked' }, 'stored'] });
});
