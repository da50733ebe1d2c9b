import fc from 'fast-check';
import t from 'tap';
import { Refusal } from '../../src/refusals.ts';
import { noteHeaders } from '../../src/requests/read-submission.ts';

/** An exclamation mark stands for a byte that is not UTF-8. */
const from = (fields: Record<string, string>) => ({
  header(name: string, isLenient = false) {
    if (isLenient) return fields[name]?.replaceAll('!', '');
    if (fields[name]?.includes('!')) throw new Refusal('invalid_request', 'not valid UTF-8');
    return fields[name];
  },
});
const none = { title: undefined, alt: undefined, name: undefined, tags: [] as string[] };

const taken: [type: 'md' | 'png', fields: Record<string, string>, meta: Partial<typeof none> | object][] = [
  ['md', {}, {}],
  ['png', {}, {}],
  ['md', { 'x-note-title': ' A title ' }, { title: 'A title' }],
  ['md', { 'x-note-title': 'Größe' }, { title: 'Größe' }],
  ['md', { 'x-note-title': '=?UTF-8?Q?caf=C3=A9?=' }, { title: 'café' }],
  ['md', { 'x-note-title*': "UTF-8''caf%C3%A9" }, { title: 'café' }],
  ['md', { 'x-note-title*': "UTF-8''a", 'x-note-title': 'b' }, { title: 'a' }],
  ['md', { 'x-note-title*': "UTF-8''a", 'x-note-title': '' }, { title: 'a' }],
  ['md', { 'x-note-title*': "UTF-8''" }, {}],
  ['md', { 'x-note-title*': "UTF-8''%20" }, {}],
  ['md', { 'x-note-title': '=?UTF-8?B?IA==?=' }, {}],
  ['md', { 'x-note-title': 'a'.repeat(100) }, { title: 'a'.repeat(100) }],
  ['md', { 'x-note-title': '\u{1f600}'.repeat(100) }, { title: '\u{1f600}'.repeat(100) }],
  ['md', { 'x-note-tags': 'News, b' }, { tags: ['news', 'b'] }],
  ['md', { 'x-note-tags': '' }, {}],
  ['md', { 'x-note-tags*': "UTF-8''%C3%BC%2Cb" }, { tags: ['ü', 'b'] }],
  ['png', { 'x-note-alt': 'a'.repeat(500) }, { alt: 'a'.repeat(500) }],
  ['md', { 'x-note-title': '' }, {}],
  ['md', { 'x-note-alt': '' }, {}],
  ['md', { 'x-note-alt*': "UTF-8''" }, {}],
  ['md', { 'x-note-name': 'a' }, {}],
  ['md', { 'x-note-name*': "UTF-8''a", 'x-note-name': '!' }, {}],
  ['png', { 'x-note-alt': '', 'x-note-name': '' }, {}],
  ['png', { 'x-note-name': ' me.png ' }, { name: 'me.png' }],
  ['png', { 'x-note-name': 'a/b\\c\u202e' }, { name: 'abc' }],
  ['png', { 'x-note-name': '/' }, {}],
  ['png', { 'x-note-name*': "UTF-8''%2Fetc%0A" }, { name: 'etc' }],
  ['png', { 'x-note-name': '=?UTF-8?Q?=2Fcaf=C3=A9?=' }, { name: 'café' }],
  ['png', { 'x-note-name': '=?x?y?z?=' }, { name: '=?x?y?z?=' }],
  ['png', { 'x-note-name*': 'no form', 'x-note-name': 'b' }, { name: 'b' }],
  ['png', { 'x-note-name*': "UTF-8''%ff" }, {}],
  ['png', { 'x-note-name*': "UTF-8''", 'x-note-name': 'b' }, {}],
  ['png', { 'x-note-name': 'a!b' }, { name: 'ab' }],
  ['png', { 'x-note-name*': "UTF-8''a!b" }, { name: 'ab' }],
  ['png', { 'x-note-name': 'a'.repeat(201) }, { name: 'a'.repeat(200) }],
  [
    'png',
    { 'x-note-alt*': "utf-8'de'%C3%BC", 'x-note-name*': "UTF-8''%C3%BC.png" },
    { alt: 'ü', name: 'ü.png' },
  ],
  [
    'png',
    { 'x-note-title': 't', 'x-note-alt': 'a', 'x-note-name': 'n' },
    { title: 't', alt: 'a', name: 'n' },
  ],
];
for (const [type, fields, meta] of taken) {
  t.test(`taken on ${type}: ${JSON.stringify(fields).slice(0, 60)}`, async (t) => {
    t.same(noteHeaders(from(fields), type), { ...none, ...meta });
  });
}

const refused: [type: 'md' | 'png', fields: Record<string, string>, message: RegExp][] = [
  ['md', { 'x-note-alt': 'a' }, /X-Note-Alt belongs to pictures/],
  ['md', { 'x-note-title': 'a!' }, /UTF-8/],
  ['png', { 'x-note-alt': 'a!' }, /UTF-8/],
  ['md', { 'x-note-title*': '' }, /X-Note-Title\* must have the form/],
  ['md', { 'x-note-title*': "ISO-8859-1''a" }, /X-Note-Title\*/],
  ['md', { 'x-note-title*': "UTF-8''%ff" }, /X-Note-Title\*/],
  ['md', { 'x-note-title': '=?KOI8-R?Q?a?=' }, /X-Note-Title/],
  ['md', { 'x-note-title': 'a'.repeat(101) }, /X-Note-Title must be at most 100/],
  ['md', { 'x-note-title*': "UTF-8''a%0Ab" }, /X-Note-Title must be one line/],
  ['md', { 'x-note-title': 'a\u202eb' }, /X-Note-Title must be one line/],
  ['png', { 'x-note-alt': 'a'.repeat(501) }, /X-Note-Alt must be at most 500/],
  ['png', { 'x-note-alt*': "UTF-8''%E2%81%A6" }, /X-Note-Alt must be one line/],
  ['md', { 'x-note-tags': 'a b' }, /The tag "a b"/],
  ['md', { 'x-note-tags*': 'a' }, /X-Note-Tags\*/],
];
for (const [type, fields, message] of refused) {
  t.test(`refused on ${type}: ${JSON.stringify(fields).slice(0, 60)}`, async (t) => {
    t.throws(() => noteHeaders(from(fields), type), { name: 'Refusal', code: 'invalid_request', message });
  });
}

t.test('a title arrives the same in all three forms', async () => {
  const title = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .filter((text) => /^\P{C}+$/u.test(text) && text.trim() === text && !/[\u2028\u2029]|=\?/.test(text));
  fc.assert(
    fc.property(title, (text) => {
      const extended = encodeURIComponent(text).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
      const forms = [
        { 'x-note-title': text },
        { 'x-note-title*': `UTF-8''${extended}` },
        { 'x-note-title': `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=` },
      ] as Record<string, string>[];
      return forms.every((fields) => noteHeaders(from(fields), 'md').title === text);
    }),
  );
});
