/** Whatever a payload says, its notes are dull: valid, bounded, and with no marks but those that the service makes. */
import fc from 'fast-check';
import t from 'tap';
import { noteKey } from '../../src/feeds/keeping.ts';
import { MAX_TEXT_BYTES } from '../../src/feeds/limits.ts';
import type { HookNote } from '../../src/hooks/hook.ts';
import { HOOK_KINDS } from '../../src/hooks/kinds.ts';
import { refuseDeep } from '../../src/hooks/members.ts';
import { Refusal } from '../../src/refusals.ts';
import { ownMembers } from '../../src/requests/read-submission.ts';
import { HOSTILE_NOTES, hostileText } from '../support/hostile-notes.ts';
import { shownNote } from '../support/rendered.ts';
import { violations } from '../support/strict-html.ts';
import { notesOf, type Recorded, recorded } from './payloads.ts';

/** Members that decide what a payload is. */
const DECIDING = /^(?:type|action|object_kind|conclusion|ref|merged|mrkdwn)$/;
/** Members that hold an address. */
const ADDRESS = /url|link|compare|homepage/i;
/** Whose texts have marks of their own, with links. */
const CHATS = ['slack', 'discord'];
/** What is shown as code, and so cannot be anything else. */
const isCode = (html: string) => html.startsWith('<pre>');

type Change = (text: string, name: string) => string;

/** The payload with each of its texts changed, but those that decide. */
function changed(value: unknown, change: Change, name = ''): unknown {
  if (typeof value === 'string') return DECIDING.test(name) ? value : change(value, name);
  if (Array.isArray(value)) return value.map((item) => changed(item, change, name));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, changed(item, change, key)]);
  return Object.fromEntries(entries);
}

/** What is wrong with a note besides what its words say. */
function faults({ markdown, title, tags, key }: HookNote): string[] {
  const bytes = Buffer.from(markdown);
  if (bytes.length > MAX_TEXT_BYTES) return [`${bytes.length} bytes`];
  // They throw.
  ownMembers({ title, tags });
  if (key !== undefined) noteKey(key);
  const { html } = shownNote(bytes, 'https://notes.example/r/abc/');
  const found = violations(html);
  for (const mark of ['<img', '<h1', '<h2', '<h3', '<table', '<hr', '<sup'])
    if (!isCode(html) && html.includes(mark)) found.push(mark);
  return found;
}

function notesOrRefusal(kind: string, payload: unknown, headers: Recorded['headers']): readonly HookNote[] {
  try {
    refuseDeep(payload);
    return notesOf(kind, payload, headers);
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) return [];
    throw error;
  }
}

const PAYLOADS = recorded();
const LINKS = [
  '[x](https://evil.example/)',
  '![x](https://evil.example/x.png)',
  '<https://evil.example/>',
  'https://evil.example/ HTTP://evil.example www.evil.example ftp://evil.example',
  'me@evil.example mailto:me@evil.example xmpp:me@evil.example/x',
  '<a href="https://evil.example/">x</a><img src=https://evil.example/>',
  '[evil.example]: https://evil.example/\n\n[evil.example]',
  '](https://evil.example/) [x](',
  '`](https://evil.example/)[`',
  '\\](https://evil.example/)[x\\',
  '[^1]\n\n[^1]: https://evil.example/',
  '!',
];

t.test('links in texts are texts, but in chats', async (t) => {
  for (const { kind, name, text, headers } of PAYLOADS.filter(({ kind }) => !CHATS.includes(kind)))
    for (const evil of LINKS) {
      const payload = changed(JSON.parse(text), (value, key) => (ADDRESS.test(key) ? value : evil));
      for (const note of notesOf(kind, payload, headers)) {
        t.same(faults(note), [], `${kind} ${name}: ${evil}`);
        const { html } = shownNote(note.markdown, 'https://notes.example/r/abc/');
        t.notMatch(
          html,
          /<[^<>]*(?:href|src)="[a-z:]*(?:\/\/)?[^/"]*evil\.example/i,
          `${kind} ${name}: ${evil}`,
        );
      }
    }
});

t.test('names of labels are texts', async (t) => {
  for (const evil of LINKS) {
    const labels = { [evil]: evil, ['x'.repeat(5_000)]: 'x' };
    const alert = { status: evil, labels: { ...labels, alertname: evil, severity: evil }, values: labels };
    for (const kind of ['alertmanager', 'grafana'])
      for (const note of notesOf(kind, { status: evil, alerts: Array(30).fill(alert) })) {
        t.same(faults(note), [], evil);
        t.notMatch(
          shownNote(note.markdown, 'https://notes.example/r/abc/').html,
          /<[^<>]*(?:href|src)=/,
          evil,
        );
      }
  }
});

t.test('members that every object has are nothing special', async (t) => {
  for (const { kind, name, text, headers } of PAYLOADS)
    for (const member of ['constructor', '__proto__', 'toString'])
      for (const isType of [false, true]) {
        const payload = JSON.parse(text, (key, value) =>
          typeof value === 'string' && DECIDING.test(key) === isType ? member : value,
        );
        for (const note of notesOrRefusal(kind, payload, headers))
          t.same(faults(note), [], `${kind} ${name}: ${member}`);
      }
});

t.test('addresses that are none of the web make no link', async (t) => {
  const addresses = [
    'javascript:alert(1)',
    'data:text/html,x',
    'mailto:me@evil.example',
    'ftp://evil.example/',
    '//evil.example',
    'https://u:p@evil.example/',
    'evil',
    'https://',
    `https://evil.example/${'x'.repeat(3_000)}`,
  ];
  for (const { kind, name, text, headers } of PAYLOADS)
    for (const address of addresses) {
      const payload = changed(JSON.parse(text), (value, key) => (ADDRESS.test(key) ? address : value));
      for (const note of notesOf(kind, payload, headers)) {
        t.same(faults(note), [], `${kind} ${name}: ${address}`);
        const { html } = shownNote(note.markdown, 'https://notes.example/r/abc/');
        t.notMatch(
          html,
          /<[^<>]*href="(?:[^"]*evil\.example|javascript|data)/,
          `${kind} ${name}: ${address}`,
        );
      }
    }
});

t.test('the notes that break careless readers', async (t) => {
  for (const { kind, name, text, headers } of PAYLOADS)
    for (const [what, evil] of Object.entries(HOSTILE_NOTES)) {
      const payload = changed(JSON.parse(text), () => evil);
      for (const note of notesOrRefusal(kind, payload, headers))
        t.same(faults(note), [], `${kind} ${name}: ${what}`);
    }
});

t.test('texts of characters that the renderer removes make no marks', async (t) => {
  for (const { kind, name, text, headers } of PAYLOADS)
    for (const evil of ['\ufffe', '\uffff\0', '\ufffe-\ufffe']) {
      const payload = changed(JSON.parse(text), () => evil);
      for (const note of notesOrRefusal(kind, payload, headers))
        t.same(faults(note), [], `${kind} ${name}: ${JSON.stringify(evil)}`);
    }
});

t.test('any text in any place', async (t) => {
  const property = fc.property(
    fc.constantFrom(...PAYLOADS),
    fc.array(hostileText(), { minLength: 1, maxLength: 8 }),
    ({ kind, text, headers }, texts) => {
      let at = 0;
      const payload = changed(JSON.parse(text), () => texts[at++ % texts.length]!);
      for (const note of notesOrRefusal(kind, payload, headers)) t.same(faults(note), []);
    },
  );
  fc.assert(property, { numRuns: 300 });
});

t.test('any JSON is notes or a 400', async (t) => {
  const kinds = [...HOOK_KINDS.keys()];
  const events = PAYLOADS.map(({ headers }) => headers);
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.constantFrom(...events),
      fc.jsonValue({ maxDepth: 6 }),
      (kind, headers, payload) => {
        for (const note of notesOrRefusal(kind, payload, headers)) t.same(faults(note), []);
      },
    ),
    { numRuns: 300 },
  );
  // Values of other types in the places of those that are documented.
  fc.assert(
    fc.property(fc.constantFrom(...PAYLOADS), fc.jsonValue(), fc.nat(), (recorded, value, place) => {
      const payload = JSON.parse(recorded.text);
      const places = placesIn(payload);
      const [holder, name] = places[place % places.length]!;
      holder[name] = value;
      for (const note of notesOrRefusal(recorded.kind, payload, recorded.headers)) t.same(faults(note), []);
    }),
    { numRuns: 300 },
  );
});

type Holder = Record<string, unknown>;

function placesIn(value: unknown): [Holder, string][] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((name): [Holder, string][] => [
    [holder, name],
    ...placesIn(holder[name]),
  ]);
}

t.test('the largest payloads make notes that fit, soon', async (t) => {
  const fillers = [
    'x',
    '\u{1f600}',
    '*a* ',
    '`',
    '<',
    '[a](',
    '!\n',
    '_a',
    '```',
    '> ',
    '- \n',
    '&lt;',
    '|',
    '\\',
    '<!>',
    '<t:1>',
    ' ',
    'http://,',
  ];
  for (const filler of fillers)
    for (const { kind, name, text, headers } of PAYLOADS) {
      const many = filler.repeat(30_000 / filler.length);
      const payload = changed(JSON.parse(text), () => many);
      const before = process.cpuUsage();
      const notes = notesOrRefusal(kind, payload, headers);
      const ms = process.cpuUsage(before).user / 1000;
      t.ok(ms < 1_000, `${kind} ${name} of ${JSON.stringify(filler)}: ${ms} ms of CPU`);
      for (const { markdown, title, tags } of notes) {
        t.ok(Buffer.byteLength(markdown) <= MAX_TEXT_BYTES);
        t.doesNotThrow(() => ownMembers({ title, tags }));
      }
    }
});
