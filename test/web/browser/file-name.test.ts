/** The names under which the compose box sends pictures. */
import t from 'tap';
import { fileNameFault } from '../../../src/feeds/file-names.ts';
import { headerBytes } from '../../../src/web/browser/page/text.ts';
import { pictureReference, sendableName } from '../../../src/web/browser/writing/file-name.ts';

t.test('a name is one that the service takes, whatever the file is called', async (t) => {
  const names = [
    'cat.png',
    ' a/b\\c.png ',
    'a"b%22.jpg',
    '\u202egpj.exe',
    '...',
    '',
    '.png',
    `${'x'.repeat(500)}.png`,
    `${'x'.repeat(149)}\u{1f642}.png`,
    '日本語.webp',
  ];
  for (const name of names) {
    const sendable = sendableName(name, []);
    t.equal(fileNameFault(sendable), undefined, JSON.stringify(name));
    t.notMatch(sendable, /"|%22/);
  }
  t.equal(sendableName('cat.png', []), 'cat.png');
  t.equal(sendableName('日本語.webp', []), '日本語.webp');
});

t.test('two pictures never have one name, and the ending tells the type', async (t) => {
  t.equal(sendableName('image.png', ['image.png']), 'image-2.png');
  t.equal(sendableName('image.png', ['image.png', 'image-2.png']), 'image-3.png');
  t.equal(sendableName('image.png', [], 'webp'), 'image.webp');
});

t.test('a reference to any name is one that markdown understands', async (t) => {
  t.equal(pictureReference('cat.png', ''), '![](cat.png)');
  t.equal(pictureReference('my cat (1).png', 'a [cat]'), '![a \\[cat\\]](my%20cat%20%281%29.png)');
  t.equal(pictureReference('日本語.png', ''), '![](日本語.png)');
});

t.test('a header holds any letters as bytes of UTF-8', async (t) => {
  t.equal(headerBytes('Café 🎉'), Buffer.from('Café 🎉').toString('latin1'));
});
