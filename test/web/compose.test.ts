/** Writing and posting on the page of a feed, as a user of Chromium. */
import { crc32 } from 'node:zlib';
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  axeFindings,
  boxIsReady,
  contrastFindings,
  isRouted,
  overflow,
  PHONE,
  settled,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { emptyBox, storage } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { EXIF_MARK, exif, jpegWith } from '../support/exif.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const service = await start(t, { SERVICE_SHRINK_IMAGE_BYTES: '30000' });
const { url } = service;
const { page, ...faults } = await visit(t, browser);

/** What is pasted, or dropped, is a file that a script of the page can make. */
async function give(
  page: Page,
  kind: 'paste' | 'drop',
  name: string,
  type: string,
  base64: string,
  at = '#note-text',
): Promise<void> {
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob('${base64}'), (character) => character.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], '${name}', {type: '${type}'}));
    const options = {bubbles: true, cancelable: true};
    const event = '${kind}' === 'paste'
      ? new ClipboardEvent('paste', {...options, clipboardData: transfer})
      : new DragEvent('drop', {...options, dataTransfer: transfer});
    document.querySelector('${at}').dispatchEvent(event);
  })()`);
}

/** A picture of noise, which no encoder makes small. */
async function noise(page: Page, width: number, height: number, type: string): Promise<Buffer> {
  const base64 = await page.evaluate<string>(`(() => {
    const canvas = Object.assign(document.createElement('canvas'), {width: ${width}, height: ${height}});
    const context = canvas.getContext('2d');
    const image = context.createImageData(${width}, ${height});
    let state = 1;
    for (let at = 0; at < image.data.length; at += 1) {
      state = (state * 1103515245 + 12345) % 2147483648;
      image.data[at] = at % 4 === 3 ? 255 : state >> 16;
    }
    context.putImageData(image, 0, 0);
    return canvas.toDataURL('${type}', 0.95).split(',')[1];
  })()`);
  return Buffer.from(base64, 'base64');
}

/** A chunk of a PNG. */
function pngChunk(name: string, data: Uint8Array): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(name), data, Buffer.alloc(4)]);
  chunk.writeUInt32BE(data.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return chunk;
}

const notesOf = async (feed: string) => (await ask(`${url}/api/v1/feeds/${feed}/notes`)).json.notes;
const textOf = (page: Page) => page.inputValue('#note-text');
/** The box of a feed that has notes is empty again. */
const posted = (page: Page) => page.waitForSelector('#toasts:has-text("Posted.")');
/** The page of a feed that had none is loaded again. */
const made = (page: Page) => page.waitForSelector('#compose:not(:has([name=password]))');

t.test('the box is one line until it is used, and is left by Escape', async (t) => {
  await post(`${url}/lined`, 'A note');
  await page.goto(`${url}/lined`);
  t.notOk(await page.isVisible('#compose .primary'));
  const { height } = (await page.locator('#compose').boundingBox())!;
  t.ok(height < 64, `${height} px`);
  await page.focus('#note-text');
  await page.waitForSelector('#compose .primary');
  await page.keyboard.press('Escape');
  await page.waitForSelector('#compose .primary', { state: 'hidden' });
  t.equal(await page.evaluate('document.activeElement.id'), 'note-text');
  await page.keyboard.type('x');
  await page.waitForSelector('#compose .primary');
  await page.keyboard.press('Escape');
  t.ok(await page.isVisible('#compose .primary'), 'what was written stays in sight');
  await emptyBox(page);
});

t.test('a first note is posted with pasted and dropped pictures, title and tags', async (t) => {
  await page.goto(`${url}/new-feed`);
  await boxIsReady(page);
  t.match(await page.textContent('#curl-line'), `${url}/new-feed`);
  t.notMatch(await page.content(), '/r/', 'nothing to read yet');
  await page.fill('#note-text', 'Before\n\nBehind');
  await page.evaluate("document.querySelector('#note-text').setSelectionRange(7, 7)");
  await give(page, 'paste', 'image.png', 'image/png', PIXEL.toString('base64'));
  await page.waitForSelector('.attachments li:nth-child(1)');
  t.equal(await textOf(page), 'Before\n\n![](image.png)\n\nBehind', 'at the caret');
  await give(page, 'drop', 'image.png', 'image/png', PIXEL.toString('base64'), 'footer, #main');
  await page.waitForSelector('.attachments li:nth-child(2)');
  await page.fill('.attachments li:nth-child(1) input', 'First "é"');
  t.match(await textOf(page), '![First "é"](image.png)', 'the text has the words of the row');
  await page.click('[data-action=title]');
  await page.keyboard.type('Café 🎉');
  await page.fill('#note-tags', 'one, Größe');
  await page.keyboard.press('Control+Enter');
  await made(page);
  const [text, ...pictures] = await notesOf('new-feed');
  t.equal(text.title, 'Café 🎉');
  t.same(text.tags, ['one', 'größe']);
  t.same(pictures.map((note: { alt?: string }) => note.alt).sort(), ['First "é"', undefined]);
  t.same(pictures.map((note: { name?: string }) => note.name).sort(), ['image-2.png', 'image.png']);
  for (const { file } of pictures) t.match(text.content, file, 'the text shows each picture');
  t.equal(await textOf(page), '', 'what was posted is no draft');
});

t.test('a text that is copied with a picture of it is pasted as a text', async (t) => {
  await page.goto(`${url}/new-feed`);
  await boxIsReady(page);
  const isLeft = await page.evaluate<boolean>(`(() => {
    const transfer = new DataTransfer();
    transfer.setData('text/plain', 'Words');
    transfer.items.add(new File(['x'], 'words.png', { type: 'image/png' }));
    const options = { bubbles: true, cancelable: true, clipboardData: transfer };
    return document.querySelector('#note-text').dispatchEvent(new ClipboardEvent('paste', options));
  })()`);
  t.ok(isLeft, 'the browser pastes it');
});

t.test('a picture without words is posted as a picture', async (t) => {
  await page.goto(`${url}/new-feed`);
  await boxIsReady(page);
  await page.focus('#note-text');
  await give(page, 'paste', 'dot.png', 'image/png', PIXEL.toString('base64'));
  await page.fill('.attachments input', 'A dot');
  await page.keyboard.press('Control+Enter');
  await posted(page);
  t.match((await notesOf('new-feed'))[0], { type: 'image/png', alt: 'A dot' });
});

t.test('rules are said when they are broken, and Post goes to what breaks one', async (t) => {
  await post(`${url}/ruled`, 'A note', { 'x-note-tags': 'server,green' });
  await page.goto(`${url}/ruled`);
  await boxIsReady(page);
  await page.fill('#note-text', 'A text');
  for (const [field, wrong, said] of [
    ['#note-tags', 'not a tag', 'The tag "not a tag" has a space in it.'],
    ['#note-tags', Array.from({ length: 11 }, (_, n) => `t${n}`).join(), 'at most 10 tags'],
    ['#note-title', 'x'.repeat(101), 'at most 100 characters'],
    ['#note-text', 'x'.repeat(102_401), 'a note may have at most 100 KB'],
  ] as const) {
    if (field === '#note-title') await page.click('[data-action=title]');
    const right = await page.inputValue(field);
    await page.fill(field, wrong);
    t.match(await page.textContent(`${field}-problem`), said);
    t.equal(await page.getAttribute(field, 'aria-invalid'), 'true');
    t.match(await page.getAttribute(field, 'aria-describedby'), `${field.slice(1)}-problem`);
    await page.click('#compose .primary');
    t.equal(await page.evaluate("'#' + document.activeElement.id"), field);
    await page.fill(field, right);
    t.equal(await page.textContent(`${field}-problem`), '');
    t.equal(await page.getAttribute(field, 'aria-invalid'), null);
  }
  t.equal((await notesOf('ruled')).length, 1);
  const pictures = Array.from({ length: 11 }, (_, n) => ({
    name: `${n}.png`,
    mimeType: 'image/png',
    buffer: PIXEL,
  }));
  await page.setInputFiles('.pictures input[type=file]', pictures);
  await page.waitForSelector('#note-pictures-problem:has-text("at most 10 pictures")');
  t.equal(await page.locator('.attachments li').count(), 10);
  await give(page, 'drop', 'drawing.svg', 'image/svg+xml', '');
  await page.click('.attachments li:nth-child(10) [data-action=remove]');
  await give(page, 'drop', 'drawing.svg', 'image/svg+xml', '');
  await page.waitForSelector('#note-pictures-problem:has-text("a picture must be a PNG, JPEG, GIF or WebP")');
  await page.fill('.attachments li:nth-child(1) input', 'x'.repeat(501));
  t.match(await page.textContent('.attachments li:nth-child(1) .problem'), 'at most 500 characters');
  await page.click('#compose .primary');
  t.ok(await page.evaluate("document.activeElement.matches('.alt')"));
  await page.fill('.attachments li:nth-child(1) input', 'Kept');
  for (let left = 9; left > 0; left -= 1)
    await page.click('.attachments li:nth-child(1) [data-action=remove]');
  t.equal(await page.locator('.attachments li').count(), 0);
  await emptyBox(page);
});

t.test('a refusal is explained and nothing is lost; a first note may protect its feed', async (t) => {
  await page.goto(`${url}/protected`);
  await boxIsReady(page);
  await page.fill('#note-text', 'A secret');
  for (const wrong of ['Grüße', ' x', 'x ']) {
    await page.fill('#feed-password', wrong);
    await page.click('#compose .primary');
    await page.waitForSelector('#feed-password:invalid:focus');
  }
  await page.fill('#feed-password', 'open sesame');
  await page.route(`${url}/protected`, (route) => route.abort(), { times: 1 });
  await isRouted(page);
  await page.click('#compose .primary');
  await page.waitForSelector('#compose .error:not(:empty)');
  t.equal(await textOf(page), 'A secret');
  await page.click('#compose .primary');
  await made(page);
  t.equal((await ask(`${url}/api/v1/feeds/protected`)).status, 401, 'it is protected');
});

t.test('the tools act on the selection, and undo takes each back', async (t) => {
  await page.goto(`${url}/lined`);
  await boxIsReady(page);
  const select = (from: number, to: number) =>
    page.evaluate(`document.querySelector('#note-text').setSelectionRange(${from}, ${to})`);
  const tool = (name: string) => page.click(`[data-tool=${name}]`);
  await page.focus('#note-text');
  await page.keyboard.type('a new dam');
  await select(2, 5);
  await tool('bold');
  t.equal(await textOf(page), 'a **new** dam');
  await tool('bold');
  t.equal(await textOf(page), 'a new dam', 'a second time takes it away');
  await page.keyboard.press('Control+i');
  t.equal(await textOf(page), 'a *new* dam');
  await page.keyboard.press('Control+b');
  t.equal(await textOf(page), 'a ***new*** dam');
  await page.keyboard.press('Control+z');
  t.equal(await textOf(page), 'a *new* dam', 'undo');
  await page.fill('#note-text', 'see here');
  await select(4, 8);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('https://a.example');
  t.equal(await textOf(page), 'see [here](https://a.example)');
  await page.fill('#note-text', 'one\ntwo');
  await select(0, 7);
  await tool('list');
  t.equal(await textOf(page), '- one\n- two');
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('three');
  await page.keyboard.press('Enter');
  t.equal(await textOf(page), '- one\n- two\n- three\n- ', 'a list goes on');
  await page.keyboard.press('Enter');
  t.equal(await textOf(page), '- one\n- two\n- three\n', 'until a line is empty');
  await page.keyboard.type('9. x');
  await page.keyboard.press('Enter');
  t.match(await textOf(page), /9\. x\n10\. $/);
  await page.fill('#note-text', 'a b');
  await select(2, 3);
  await tool('code');
  t.equal(await textOf(page), 'a `b`');
  await page.fill('#note-text', 'x\ny');
  await select(0, 3);
  await tool('code');
  t.equal(await textOf(page), '```\nx\ny\n```');
  await emptyBox(page);
});

t.test('tags of the feed are offered, and chosen by keys', async (t) => {
  await page.goto(`${url}/ruled`);
  await boxIsReady(page);
  await page.focus('#note-text');
  await page.focus('#note-tags');
  // If tags are offered after a key has chosen one, the choice is lost.
  const offered = page.waitForResponse(/tags\?q=ser$/);
  await page.keyboard.type('ser');
  await (await offered).finished();
  await settled(page);
  await page.waitForSelector('#note-known-tags >> text=server');
  t.equal(await page.textContent('#note-known-tags'), 'server');
  await page.keyboard.press('ArrowDown');
  t.equal(await page.getAttribute('#note-tags', 'aria-activedescendant'), 'note-known-tags-0');
  await page.keyboard.press('Enter');
  t.equal(await page.inputValue('#note-tags'), 'server, ');
  await page.keyboard.type('gr');
  await page.click('#note-known-tags li');
  t.equal(await page.inputValue('#note-tags'), 'server, green, ');
  await page.keyboard.type('s');
  t.notOk(await page.isVisible('#note-known-tags'), 'none twice');
  await emptyBox(page);
});

t.test('a note with pictures is written, ordered and posted with the keyboard alone', async (t) => {
  await page.goto(`${url}/lined`);
  await boxIsReady(page);
  await page.evaluate("document.querySelector('#main').focus()");
  const { keyboard } = page;
  // Early, because the browser takes a moment until it leaves the dialog to the test.
  const chooser = page.waitForEvent('filechooser');
  for (
    let tabs = 0;
    (await page.evaluate('document.activeElement.id')) !== 'note-text' && tabs < 20;
    tabs += 1
  )
    await keyboard.press('Tab');
  await keyboard.type('By keys');
  const tabTo = async (selector: string) => {
    for (let tabs = 0; !(await page.evaluate(`document.activeElement.matches('${selector}')`)); tabs += 1) {
      t.ok(tabs < 30, selector);
      await keyboard.press('Tab');
    }
  };
  await tabTo('[data-tool=picture]');
  await keyboard.press('Enter');
  await (await chooser).setFiles([
    { name: 'a.png', mimeType: 'image/png', buffer: PIXEL },
    { name: 'b.png', mimeType: 'image/png', buffer: PIXEL },
  ]);
  await page.waitForSelector('.attachments li:nth-child(2)');
  await page.focus('#note-text');
  await tabTo('.attachments li:nth-child(2) input');
  await keyboard.type('The second');
  await tabTo('[data-action=up]');
  await keyboard.press('Enter');
  t.match(await page.textContent('.attachments li:nth-child(1)'), 'b.png');
  t.ok(await page.evaluate("document.activeElement.matches('[data-action=up]')"), 'the focus moves along');
  await tabTo('#note-tags');
  await keyboard.type('keys');
  await tabTo('#compose .primary');
  await keyboard.press('Enter');
  await posted(page);
  t.equal(await page.evaluate('document.activeElement.id'), 'note-text', 'the next one can be written');
  t.notOk(await page.isVisible('#compose .primary'));
  await page.waitForSelector('article:has-text("By keys")');
  const [text] = await notesOf('lined');
  t.match(text, { tags: ['keys'], content: /^By keys\n\n!\[\]\(\S+\)\n\n!\[The second\]\(\S+\)$/ });
});

t.test('pictures are ordered by dragging, and their draft with them', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(`${url}/lined`);
  await boxIsReady(page);
  const picture = { mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('.pictures input[type=file]', [
    { name: 'a.png', ...picture },
    { name: 'b.png', ...picture },
  ]);
  await page.waitForSelector('.attachments li:nth-child(2)');
  t.ok(await eventually(async () => /"a\.png".*"b\.png"/.test(await storage(page))));
  const first = page.locator('.attachments li:nth-child(1)');
  await page.dragAndDrop('.attachments li:nth-child(2) .file', '.attachments li:nth-child(1) .file', {
    targetPosition: { x: 2, y: 2 },
  });
  t.match(await first.textContent(), 'b.png');
  t.ok(await eventually(async () => /"b\.png".*"a\.png"/.test(await storage(page))));
});

t.test('a file that is dropped where no box is opens nothing', async (t) => {
  const [note] = await notesOf('lined');
  await page.goto(`${url}/lined?tag=keys`);
  await give(page, 'drop', 'x.png', 'image/png', PIXEL.toString('base64'), '#main');
  await page.waitForSelector('#toasts:has-text("no box here")');
  t.ok(note);
});

t.test('a large picture is shrunk upright, and a position is pointed out and removed', async (t) => {
  await page.goto(`${url}/photos`);
  await boxIsReady(page);
  const jpeg = await noise(page, 400, 300, 'image/jpeg');
  const withPosition = Buffer.concat([EXIF_MARK, exif({ position: true })]);
  const photo = jpegWith(jpeg, withPosition);
  t.ok(photo.length > 30_000);
  const small = jpegWith(await noise(page, 40, 30, 'image/jpeg'), withPosition);
  const gif = Buffer.concat([
    Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64'),
    Buffer.alloc(70_000),
  ]);
  await page.setInputFiles('.pictures input[type=file]', [
    { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: photo },
    { name: 'small.jpg', mimeType: 'image/jpeg', buffer: small },
    { name: 'moving.gif', mimeType: 'image/gif', buffer: gif },
  ]);
  await page.waitForSelector('.attachments li:nth-child(3)');
  t.match(await page.textContent('.attachments li:nth-child(1) .file'), 'shrunk from');
  t.equal(await page.textContent('.attachments li:nth-child(1) .notice'), '', 'it is drawn anew');
  t.match(await page.textContent('.attachments li:nth-child(2) .notice'), 'where it was taken');
  await page.click('.attachments li:nth-child(2) [data-action=clean]');
  await page.waitForSelector('text=The position is removed.');
  await page.click('#compose .primary');
  await made(page);
  const notes = await notesOf('photos');
  const bytesOf = async (name: string) => {
    const { file_url } = notes.find((note: { name: string }) => note.name === name);
    return (await ask(file_url)).bytes;
  };
  const shrunk = await bytesOf('photo.jpg');
  t.ok(shrunk.length <= 30_000);
  const size = await page.evaluate<number[]>(`(async () => {
    const bytes = Uint8Array.from(atob('${shrunk.toString('base64')}'), (character) => character.charCodeAt(0));
    const {width, height} = await createImageBitmap(new Blob([bytes], {type: 'image/jpeg'}));
    return [width, height];
  })()`);
  t.ok(size[0]! < size[1]!, 'the camera was on its side');
  t.notMatch((await bytesOf('small.jpg')).toString('latin1'), 'Exif');
  t.ok((await bytesOf('moving.gif')).equals(gif), 'a GIF is sent as it is');
});

t.test('a large picture in place of another one keeps its type', async (t) => {
  const { json: note } = await post(`${url}/retyped`, PIXEL, { 'content-type': 'image/png' });
  await page.goto(note.url);
  await page.click('article summary');
  await page.click('article a.edit');
  const buffer = await noise(page, 600, 600, 'image/png');
  await page.setInputFiles('#edit-replacement', { name: 'noise.png', mimeType: 'image/png', buffer });
  await page.waitForSelector('#replacement-notice:has-text("Shrunk from")');
  await page.click('article .primary');
  await page.waitForSelector('article .box', { state: 'detached' });
  const [{ type, size }] = await notesOf('retyped');
  t.equal(type, 'image/png');
  t.ok(size <= 30_000 && size > PIXEL.length, `${size}`);
});

/** Holds up the drawing of pictures until `held` is resolved. */
const HOLD_DRAWING = `{
  const draw = createImageBitmap;
  globalThis.held = Promise.withResolvers();
  globalThis.createImageBitmap = async (...options) => {
    await held.promise;
    return draw(...options);
  };
}`;

t.test('a position that is being removed is not posted, and what is typed meanwhile stays', async (t) => {
  await page.goto(`${url}/cleaned`);
  await boxIsReady(page);
  const jpeg = await noise(page, 40, 30, 'image/jpeg');
  const buffer = jpegWith(jpeg, Buffer.concat([EXIF_MARK, exif({ position: true })]));
  const names = ['first.jpg', 'second.jpg'];
  const files = names.map((name) => ({ name, mimeType: 'image/jpeg', buffer }));
  await page.setInputFiles('.pictures input[type=file]', files);
  await page.waitForSelector('.attachments li:nth-child(2)');
  await page.evaluate(HOLD_DRAWING);
  await page.click('.attachments li:nth-child(1) [data-action=clean]');
  await page.fill('.attachments li:nth-child(1) .alt', 'Typed meanwhile');
  await page.evaluate('held.resolve()');
  await page.waitForSelector('text=The position is removed.');
  await page.evaluate('held = Promise.withResolvers()');
  await page.click('.attachments li:nth-child(2) [data-action=clean]');
  await page.keyboard.press('Control+Enter');
  await page.evaluate('held.resolve()');
  await made(page);
  const notes: { name: string; alt?: string; file_url: string }[] = await notesOf('cleaned');
  const pictures = names.map((name) => notes.find((note) => note.name === name)!);
  t.same(
    pictures.map(({ alt }) => alt),
    ['Typed meanwhile', undefined],
  );
  for (const { file_url } of pictures) t.notMatch((await ask(file_url)).bytes.toString('latin1'), 'Exif');
});

t.test(
  'a picture that is ready leaves what is selected by then, and the field that is typed in',
  async (t) => {
    const { page } = await visit(t, browser);
    await post(`${url}/ready`, 'A note');
    await page.goto(`${url}/ready`);
    await boxIsReady(page);
    await page.fill('#note-text', 'All words');
    const buffer = await noise(page, 400, 300, 'image/jpeg');
    await page.evaluate(HOLD_DRAWING);
    await page.setInputFiles('.pictures input[type=file]', {
      name: 'photo.jpg',
      mimeType: 'image/jpeg',
      buffer,
    });
    await page.evaluate("document.querySelector('#note-text').select()");
    await page.focus('#note-tags');
    await page.keyboard.type('ho');
    await page.evaluate('held.resolve()');
    await page.waitForSelector('.attachments li');
    await page.keyboard.type('liday');
    t.equal(await textOf(page), 'All words\n\n![](photo.jpg)');
    t.equal(await page.inputValue('#note-tags'), 'holiday');
  },
);

t.test('a picture that is refused after Post was pressed stops the post once', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/refused-late`, 'A note');
  await page.goto(`${url}/refused-late`);
  await boxIsReady(page);
  await page.fill('#note-text', 'Words');
  const large = { mimeType: 'image/jpeg', buffer: await noise(page, 400, 300, 'image/jpeg') };
  const small = { mimeType: 'image/png', buffer: PIXEL };
  await page.evaluate(HOLD_DRAWING);
  await page.setInputFiles('.pictures input[type=file]', [
    { name: 'first.jpg', ...large },
    ...Array.from({ length: 10 }, (_, n) => ({ name: `${n}.png`, ...small })),
  ]);
  await page.focus('#note-text');
  await page.keyboard.press('Control+Enter');
  await page.evaluate('held.resolve()');
  await page.waitForSelector('#compose .error:has-text("9.png: a note may have at most 10 pictures")');
  t.equal((await notesOf('refused-late')).length, 1);
  await page.keyboard.press('Control+Enter');
  await posted(page);
  t.equal((await notesOf('refused-late')).length, 1 + 1 + 10);
});

t.test('a picture that is added after Post was pressed is posted, too', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/added-late`, 'A note');
  await page.goto(`${url}/added-late`);
  await boxIsReady(page);
  await page.fill('#note-text', 'Words');
  const buffer = await noise(page, 400, 300, 'image/jpeg');
  await page.evaluate(HOLD_DRAWING);
  const add = (name: string) =>
    page.setInputFiles('.pictures input[type=file]', { name, mimeType: 'image/jpeg', buffer });
  await add('first.jpg');
  await page.focus('#note-text');
  await page.keyboard.press('Control+Enter');
  await add('second.jpg');
  await page.evaluate('held.resolve()');
  await posted(page);
  t.equal((await notesOf('added-late')).length, 1 + 1 + 2);
});

t.test('a picture that is too large by a byte is refused', async (t) => {
  const limited = await start(t, { SERVICE_MAX_IMAGE_BYTES: '1000' });
  const { page } = await visit(t, browser);
  await page.goto(`${limited.url}/limited`);
  await boxIsReady(page);
  const gif = (size: number) => ({
    name: `${size}.gif`,
    mimeType: 'image/gif',
    buffer: Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(size - 6)]),
  });
  await page.setInputFiles('.pictures input[type=file]', [gif(1_001), gif(1_000)]);
  await page.waitForSelector('#note-pictures-problem:has-text("1001.gif has 1 KB")');
  t.same(await page.locator('.attachments .file').allTextContents(), ['1000.gif · 1 KB']);
});

t.test('pictures that are discarded while they are prepared stop no post', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/discarded-early`, 'A note');
  await page.goto(`${url}/discarded-early`);
  await boxIsReady(page);
  const buffer = await noise(page, 400, 300, 'image/jpeg');
  await page.evaluate(HOLD_DRAWING);
  await page.setInputFiles('.pictures input[type=file]', [
    { name: 'first.jpg', mimeType: 'image/jpeg', buffer },
    { name: 'words.txt', mimeType: 'text/plain', buffer: Buffer.from('x') },
  ]);
  // Its button is shown once a draft is back.
  await page.evaluate("document.querySelector('#compose [data-action=discard]').click()");
  await page.fill('#note-text', 'Words');
  await page.keyboard.press('Control+Enter');
  await page.evaluate('held.resolve()');
  await posted(page);
  t.equal((await notesOf('discarded-early')).length, 2);
});

t.test('an answer of `null` is none of the service, so the post waits', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await post(`${url}/null`, 'A note');
  await page.goto(`${url}/null`);
  await boxIsReady(page);
  await page.fill('#note-text', 'Words');
  await page.route(`${url}/null`, (route) => route.fulfill({ status: 400, body: 'null' }));
  await isRouted(page);
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('#waiting li:has-text("Words")');
});

t.test('an animated picture is not made a still one to remove its position', async (t) => {
  await page.goto(`${url}/animated`);
  await boxIsReady(page);
  const frames = Buffer.alloc(8);
  frames.writeUInt32BE(1);
  const frame = Buffer.alloc(26);
  for (const side of [4, 8]) frame.writeUInt32BE(1, side);
  // Larger than what is shrunk.
  const chunks = [
    pngChunk('acTL', frames),
    pngChunk('eXIf', exif({ position: true })),
    pngChunk('teSt', Buffer.alloc(30_000)),
    pngChunk('fcTL', frame),
  ];
  const buffer = Buffer.concat([PIXEL.subarray(0, 33), ...chunks, PIXEL.subarray(33)]);
  const file = { name: 'moving.png', mimeType: 'image/png', buffer };
  await page.setInputFiles('.pictures input[type=file]', file);
  await page.click('.attachments [data-action=clean]');
  await page.waitForSelector('.attachments .notice:has-text("is animated")');
  await page.click('#compose .primary');
  await made(page);
  const [note] = await notesOf('animated');
  t.ok((await ask(note.file_url)).bytes.equals(buffer));
});

t.test('an upload shows how far it is, and can be cancelled with nothing lost', async (t) => {
  await page.goto(`${url}/cancelled`);
  await boxIsReady(page);
  await page.fill('#note-text', 'Slow');
  await page.route(`${url}/cancelled`, () => {}, { times: 1 });
  await isRouted(page);
  await page.click('#compose .primary');
  await page.waitForSelector('.sending progress');
  await page.click('[data-action=cancel]');
  await page.waitForSelector('.sending', { state: 'hidden' });
  t.equal(await page.textContent('#compose .status'), 'Cancelled.');
  t.equal(await page.inputValue('#note-text'), 'Slow');
  await page.unroute(`${url}/cancelled`);
});

t.test('nothing is typed into or added to a note that is being sent', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/held`, 'Before', { 'x-note-tags': 'known' });
  await page.goto(`${url}/held`);
  await boxIsReady(page);
  await page.setInputFiles('.pictures input[type=file]', {
    name: 'dot.png',
    mimeType: 'image/png',
    buffer: PIXEL,
  });
  await page.waitForSelector('.attachments li');
  await page.fill('#note-text', 'First');
  await page.focus('#note-tags');
  await page.waitForSelector('#note-known-tags li');
  const held = Promise.withResolvers<void>();
  await page.route(`${url}/held`, async (route) => {
    if (route.request().method() === 'POST') await held.promise;
    await route.fallback();
  });
  await isRouted(page);
  let posts = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url() === `${url}/held`) posts += 1;
  });
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('#compose .sending progress');
  await page.keyboard.press('Control+Enter');
  await page.click('#note-known-tags li');
  t.equal(await page.inputValue('#note-tags'), '');
  await page.focus('#note-text');
  await page.keyboard.type(' and more');
  await page.keyboard.press('Control+b');
  await page.click('#compose [data-tool=list]');
  t.equal(await page.inputValue('#note-text'), 'First');
  for (const kind of ['paste', 'drop'] as const) {
    await give(page, kind, 'dot.png', 'image/png', PIXEL.toString('base64'));
    await page.waitForSelector('#toasts .toast:has-text("Add the picture again")');
    await page.evaluate("document.querySelector('#toasts').replaceChildren()");
  }
  await page.focus('.attachments .alt');
  await page.keyboard.type('A dot');
  t.equal(await page.inputValue('.attachments .alt'), '');
  await page.click('.attachments [data-action=remove]');
  await page.waitForSelector('#toasts .toast:has-text("The note is being sent.")');
  t.equal(await page.locator('.attachments li').count(), 1);
  held.resolve();
  await page.waitForSelector('article:has-text("First")');
  await page.waitForSelector('#note-text:focus');
  await page.keyboard.type('Second');
  t.equal(await page.inputValue('#note-text'), 'Second');
  t.equal(posts, 1);
});

t.test('pictures that are off are explained', async (t) => {
  await page.goto(`${url}/refused`);
  await page.focus('#note-text');
  await page.click('#compose .primary');
  await page.waitForSelector('text=Write something, or add a picture.');
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  await post(`${off.url}/no-pictures`, 'text');
  await page.goto(`${off.url}/no-pictures`);
  t.match(await page.textContent('#compose'), "Images can't be posted on this instance.");
  t.equal(await page.locator('#compose [type=file]').count(), 0);
  await page.focus('#note-text');
  await give(page, 'drop', 'x.png', 'image/png', PIXEL.toString('base64'));
  await page.waitForSelector('#toasts:has-text("no box here")');
});

t.test('Post stays in view, however much is written and shown', async (t) => {
  for (const options of [PHONE, { viewport: { width: 1000, height: 700 } }]) {
    const { page } = await visit(t, browser, options);
    await page.goto(`${url}/ruled`);
    await boxIsReady(page);
    await page.fill('#note-text', '\n\nA line'.repeat(50));
    await page.setInputFiles('.pictures input[type=file]', {
      name: 'tall.png',
      mimeType: 'image/png',
      buffer: await noise(page, 20, 3_000, 'image/png'),
    });
    await page.fill('.attachments input', 'tall');
    await page.click('[data-action=insert]');
    if ((await page.getAttribute('[data-tool=eye]', 'aria-pressed')) === 'false')
      await page.click('[data-tool=eye]');
    await page.waitForSelector('.preview img[src^="blob:"]');
    await page.evaluate("document.querySelector('#compose').scrollIntoView()");
    const { y, height } = (await page.locator('#compose .primary').boundingBox())!;
    t.ok(y + height <= options.viewport.height, `${y + height}`);
    t.ok((await page.locator('.preview img').boundingBox())!.height <= 256);
  }
});

t.test('the box is good in light, in dark, wide and on a phone', async (t) => {
  for (const options of [
    { colorScheme: 'light', ...PHONE },
    { colorScheme: 'dark', viewport: { width: 1400, height: 900 } },
  ] as const) {
    const { page } = await visit(t, browser, options);
    await page.goto(`${url}/ruled`);
    t.same(await axeFindings(page), []);
    t.same(await contrastFindings(page), []);
    await page.focus('#note-text');
    await boxIsReady(page);
    await page.waitForSelector('#compose .primary');
    await page.fill('#note-text', 'Some *words*');
    await page.setInputFiles('.pictures input[type=file]', {
      name: 'a.png',
      mimeType: 'image/png',
      buffer: PIXEL,
    });
    await page.waitForSelector('.attachments li');
    await page.click('[data-action=title]');
    await page.fill('#note-tags', 'not a tag');
    if ((await page.getAttribute('[data-tool=eye]', 'aria-pressed')) === 'false')
      await page.click('[data-tool=eye]');
    await page.waitForSelector('.preview em');
    await page.waitForSelector('.preview img[src^="blob:"]');
    t.same(await axeFindings(page), []);
    t.same(await contrastFindings(page), []);
    t.equal(await overflow(page), 0);
    const text = (await page.locator('#note-text').boundingBox())!;
    const preview = (await page.locator('.preview').boundingBox())!;
    if (options.colorScheme === 'dark') t.ok(preview.x > text.x + text.width, 'beside the text');
    else t.ok(preview.y >= text.y + text.height, 'below it');
  }
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same(faults.violations, []);
  t.same(faults.errors, []);
  t.same(faults.dialogs, []);
});
