import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';

/** Widths of the pictures on a sheet, px. */
const WIDTHS = { light: 300, dark: 300, phone: 160 };
const QUALITY = 60;

/** Makes `<out>/<page>.webp` of the pictures of two folders: each look before and after, beside each other. */
export async function makeSheets(
  browser: Browser,
  before: string,
  after: string,
  out: string,
): Promise<void> {
  await mkdir(out, { recursive: true });
  const files = [...(await readdir(before)), ...(await readdir(after))];
  const names = new Set(files.filter((file) => file.endsWith('.png')).map((file) => file.split('.')[0]!));
  const page = await browser.newPage({ viewport: { width: 1590, height: 400 } });
  // Playwright itself takes no WebP, which is half as large as JPEG.
  const devTools = await page.context().newCDPSession(page);
  const sheet = resolve(out, 'sheet.html');
  for (const name of [...names].toSorted()) {
    await writeFile(sheet, sheetOf(name, { before, after }));
    await page.goto(pathToFileURL(sheet).href);
    const options = { format: 'webp', quality: QUALITY, captureBeyondViewport: true } as const;
    const { data } = await devTools.send('Page.captureScreenshot', options);
    await writeFile(join(out, `${name}.webp`), data, 'base64');
  }
  await rm(sheet, { force: true });
}

function sheetOf(name: string, folders: Readonly<Record<'before' | 'after', string>>): string {
  const figures = Object.entries(WIDTHS).flatMap(([look, width]) =>
    Object.entries(folders).map(([when, folder]) => {
      const file = resolve(folder, `${name}.${look}.png`);
      if (!existsSync(file)) return '';
      const image = `<img src="${pathToFileURL(file).href}">`;
      return `<figure style="width:${width}px"><figcaption>${look}, ${when}</figcaption>${image}</figure>`;
    }),
  );
  return `<!doctype html><meta charset="utf-8"><style>
body { display: flex; gap: 10px; align-items: start; margin: 10px; background: #c8c8c8; font: 13px sans-serif }
figure { margin: 0 } figcaption { margin-bottom: 4px } img { width: 100%; display: block }
</style>${figures.join('')}`;
}
