/** Whatever notes hold, the client for the terminal reads it exactly and shows it harmlessly. */
import t from 'tap';
import { missing } from '../support/installed.ts';
import { Client, hostOf, SHELLS } from '../support/nf.ts';
import { post, start } from '../support/service.ts';

const { url } = await start(t);
let feeds = 0;
const newFeed = () => `hostile-${process.pid}-${++feeds}`;

/** Of JSON, of shells, of curl's configuration, of terminals; of one to four bytes. */
const PIECES = [
  '"',
  '\\',
  '\\"',
  '\\u0041',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"content":"x"',
  '\n',
  '\r\n',
  '\t',
  '\b',
  '\f',
  '/',
  "'",
  '`id`',
  '$(id)',
  '$HOME',
  '%s',
  '%00',
  '&',
  '*',
  '~',
  ' ',
  '\0',
  '\x01',
  '\x1b[2J',
  '\x7f',
  '\u009b1m',
  'ÿ',
  'Á',
  '\u2028',
  '\u202e',
  '한',
  '😀',
  'é\u0301',
  'null',
  'a'.repeat(3000),
  '\\'.repeat(301),
  '"'.repeat(300),
];
/** Park–Miller, so that a failure can be had again. */
let seed = 20261124;
const random = (below: number) => {
  seed = (seed * 48271) % 2147483647;
  return seed % below;
};
const anyText = () => Array.from({ length: 60 }, () => PIECES[random(PIECES.length)]!).join('');

/** JSON of a text: as JavaScript writes it, or with everything escaped that may be. */
const WRITERS: ((text: string) => string)[] = [
  JSON.stringify,
  (text) =>
    `"${text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`,
  (text) =>
    JSON.stringify(text)
      .replaceAll('/', '\\/')
      .replace(
        /[\u0080-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
      ),
];

const isControl = (byte: number) => byte < 0x20 || byte === 0x7f;

for (const shell of SHELLS)
  t.test(shell.name, { skip: shell.skip }, async (t) => {
    t.test('any text in any JSON is read byte for byte', async (t) => {
      let answer = '';
      const host = await hostOf(t, (_, response) => response.end(answer));
      const client = await Client.install(t, url, shell, host);
      await client.remember(`http://${host}\twork\tfeed\t=\t=\n`);
      for (let at = 0; at < 12; at++) {
        const text = anyText();
        const write = WRITERS[at % WRITERS.length]!;
        const first = `{ "nested" : [{"content":${write(text)}}, [1, -2.5e3, true, null]],"tags":[],`;
        answer = `${first}"type":"text/markdown",\n"content" : ${write(text)},"id":"x"}`;
        const { code, bytes, errors } = await client.run(['get', 'x']);
        t.match({ code, errors }, { code: 0, errors: '' });
        t.same(bytes, Buffer.from(text), `text ${at}`);
      }
      answer = '{"type":"text/markdown","content":"a\\ud800b\\udc00c\\ud83d\\u0041"}';
      t.equal((await client.run(['get', 'x'])).out, 'a\ufffdb\ufffdc\ufffdA');
      const hostile = '\x1b[2J\n\x9b2J\u202e\u2066\u2028\x7f"\\';
      const note = {
        id: hostile,
        title: hostile,
        created_at: '\x1b[2J',
        tags: [hostile],
        match: { text: hostile },
      };
      answer = JSON.stringify({ notes: [note, { id: 'next', title: '', tags: [] }], next: null });
      const shown = '?[2J??2J????"\\';
      const row = `?[2J  ${shown}  ${shown}  #${shown}\n    ${shown}\n  next  \n`;
      t.equal((await client.run(['list'])).out, row);
      answer = JSON.stringify({ notes: [], next: hostile });
      t.equal((await client.run(['list'])).errors, `nf: There is more: --before ${shown}\n`);
      answer = '{"type":"text/markdown","content":"ab","size":3}';
      t.match(await client.run(['edit', 'x'], { env: { EDITOR: 'false' } }), {
        code: 2,
        errors: /read exactly/,
      });
      answer = '<html lang="en"><p style="}}]]">"\x1b[2J" no JSON';
      const { bytes } = await client.run(['list']);
      t.notOk(bytes.some((byte) => isControl(byte) && byte !== 10));
    });

    t.test('a list has one harmless line for each note', async (t) => {
      const client = await Client.of(t, url, shell, newFeed());
      const texts = [
        '\x1b[31mred \x1b]0;title\x07',
        '","id":"fake","title":"',
        '\u009b2J c1 \u202e txt',
        "'; `id` $(id) %s \\n",
      ];
      for (const text of texts) t.match(await client.run(['post'], { input: text }), { code: 0 });
      const { out, bytes } = await client.run(['list']);
      t.equal(out.split('\n').length, texts.length + 1);
      t.notOk(bytes.some((byte) => isControl(byte) && byte !== 10));
      t.notMatch(out, /[\u0080-\u009f\u202e]/);
      t.match(out, `  ","id":"fake","title":"`);
      t.match(out, "  '; id $(id) %s \\n\n");
    });

    t.test('a terminal gets nothing that it obeys', { skip: missing('script') }, async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      const { id } = (await post(`${url}/${feed}`, 'a\x1b[2J\u009b2Jb\r\n\tc\x07\n')).json;
      t.equal((await client.inTerminal(['get', id])).shown, 'a?[2J?2Jb\r\n\tc?\r\n');
      t.notMatch((await client.inTerminal(['list', '--json'])).shown, /[\x07\x1b\u009b]/);
      t.equal((await client.run(['get', id])).out, 'a\x1b[2J\u009b2Jb\r\n\tc\x07\n');
    });

    t.test('titles, tags and names are sent as they are, or refused', async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      const title = `"q" \\ $HOME \`id\` 'x' %41 =?UTF-8?Q?a?= é 😀; @x`;
      t.match(await client.run(['post', '--title', title, '--tag', 'été'], { input: '@/etc/passwd' }), {
        code: 0,
      });
      const { notes } = JSON.parse((await client.run(['list', '--json'])).out);
      t.match(notes, [{ title, tags: ['été'], content: '@/etc/passwd' }]);
      const refused = { code: 1, errors: /\(invalid_request\)\n$/ };
      t.match(await client.run(['post', '--title', 'a\r\nX-Feed-Password: b'], { input: 'x' }), refused);
      t.match(await client.run(['post', '--key', 'a\nb'], { input: 'x' }), { code: 2 });
      t.match(await client.run(['post', '--expires', '1h\r'], { input: 'x' }), { code: 2 });
      const file = '-a\nb "c" \\.png';
      await client.write(file, Buffer.from('89504e470d0a1a0a00', 'hex'));
      t.match(await client.run(['post', `./${file}`]), { code: 0 });
      t.match(await client.run(['post', '--', file]), { code: 0 });
      await client.write('x.md', 'text');
      t.match(await client.run(['post', 'x.md', `./${file}`]), { code: 1, errors: /one line/ });
      t.match(await client.run(['get', '../../x "y"\n&?#é']), { code: 1, errors: /\(not_found\)\n$/ });
      t.same(await client.left(), []);
    });
  });
