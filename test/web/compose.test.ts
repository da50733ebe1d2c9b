/** Writing and posting on the page of a feed, as a user of Chromium. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
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
): Promise<void> {
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob('${base64}'), (character) => character.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], '${name}', {type: '${type}'}));
    const options = {bubbles: true, cancelable: true};
    const event = '${kind}' === 'paste'
      ? new ClipboardEvent('paste', {...options, clipboardData: transfer})
      : new DragEvent('drop', {...options, dataTransfer: transfer});
    document.querySelector('#note-text').dispatchEvent(event);
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

const notesOf = async (feed: string) => (await ask(`${url}/api/v1/feeds/${feed}/notes`)).json.notes;

t.test('a first note is posted with pasted and dropped pictures, title and tags', async (t) => {
  await page.goto(`${url}/new-feed`);
  t.match(await page.textContent('#curl-line'), `${url}/new-feed`);
  t.notMatch(await page.content(), '/r/', 'nothing to read yet');
  await give(page, 'paste', 'image.png', 'image/png', PIXEL.toString('base64'));
  await page.waitForSelector('.attachments li:nth-child(1)');
  await give(page, 'drop', 'image.png', 'image/png', PIXEL.toString('base64'));
  await page.waitForSelector('.attachments li:nth-child(2)');
  await page.fill('.attachments li:nth-child(1) input', 'First "é"');
  await page.fill('#note-text', 'Before ');
  await page.click('.attachments li:nth-child(1) [data-action=insert]');
  await page.fill('#note-title', 'Café 🎉');
  await page.fill('#note-tags', 'one, Größe');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('#compose:not(:has([name=password]))');
  const [text, ...pictures] = await notesOf('new-feed');
  t.equal(text.title, 'Café 🎉');
  t.same(text.tags, ['one', 'größe']);
  t.same(pictures.map((note: { alt?: string }) => note.alt).sort(), ['First "é"', undefined]);
  t.same(pictures.map((note: { name?: string }) => note.name).sort(), ['image-2.png', 'image.png']);
  for (const { file } of pictures) t.match(text.content, file, 'the text shows each picture');
  t.equal(await page.inputValue('#note-text'), '', 'what was posted is no draft');
});

t.test('a draft survives a reload and a refused post, which is explained', async (t) => {
  await page.goto(`${url}/drafted`);
  await page.fill('#note-text', 'A draft');
  await page.fill('#note-tags', 'not a tag');
  await page.reload();
  t.equal(await page.inputValue('#note-text'), 'A draft');
  await page.click('#compose .primary');
  await page.waitForSelector('#compose .error:not(:empty)');
  t.match(await page.textContent('#compose .error'), 'The tag "not a tag" has a space in it.');
  t.equal(await page.inputValue('#note-text'), 'A draft');
  t.notMatch(await page.evaluate('JSON.stringify(localStorage)'), 'drafted', 'nor does it tell the name');
  await page.fill('#note-tags', '');
  for (const wrong of ['Grüße', ' x', 'x ']) {
    await page.fill('#feed-password', wrong);
    await page.click('#compose .primary');
    await page.waitForSelector('#feed-password:invalid:focus');
  }
  await page.fill('#feed-password', 'open sesame');
  await page.click('#compose .primary');
  await page.waitForSelector('#compose:not(:has([name=password]))');
  t.equal((await ask(`${url}/api/v1/feeds/drafted`)).status, 401, 'it is protected');
  await page.fill('#note-text', 'Soon locked');
  await page.goto(`${url}/drafted/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  await page.fill('#password', 'open sesame');
  await page.click('button.primary');
  await page.waitForSelector('#compose');
  t.equal(await page.inputValue('#note-text'), '', 'a lock takes the draft with it');
});

t.test('a large picture is shrunk upright, and a position is pointed out and removed', async (t) => {
  await page.goto(`${url}/photos`);
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
  await page.waitForSelector('#compose:not(:has([name=password]))');
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

t.test('an upload shows how far it is, and can be cancelled with nothing lost', async (t) => {
  await page.goto(`${url}/cancelled`);
  await page.fill('#note-text', 'Slow');
  await page.route(`${url}/cancelled`, () => {}, { times: 1 });
  await page.click('#compose .primary');
  await page.waitForSelector('.sending progress');
  await page.click('[data-action=cancel]');
  await page.waitForSelector('.sending', { state: 'hidden' });
  t.equal(await page.textContent('#compose .status'), 'Cancelled.');
  t.equal(await page.inputValue('#note-text'), 'Slow');
  await page.unroute(`${url}/cancelled`);
});

t.test('pictures that are off, and one that is too large or none at all, are explained', async (t) => {
  await page.goto(`${url}/refused`);
  await give(page, 'drop', 'drawing.svg', 'image/svg+xml', '');
  await page.waitForSelector('text=a picture must be a PNG, JPEG, GIF or WebP');
  await page.click('#compose .primary');
  await page.waitForSelector('text=Write something, or add a picture.');
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  await post(`${off.url}/no-pictures`, 'text');
  await page.goto(`${off.url}/no-pictures`);
  t.match(await page.textContent('#compose'), "Images can't be posted on this instance.");
  t.equal(await page.locator('#compose [type=file]').count(), 0);
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same(faults.violations, []);
  t.same(faults.errors, []);
});
