import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';
import { bundle } from './bundle.ts';

const COMPRESS = { gzip: promisify(gzip), br: promisify(brotliCompress) };
const compress = (bytes: Uint8Array, coding: keyof typeof COMPRESS) => COMPRESS[coding](bytes);

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
} as const;

/** The parts of the one style sheet, in order. */
const STYLES = ['page.css', 'text.css', 'form.css'];

/** Pictures that pages load, by the names that templates use. */
const PICTURES = {
  icon: 'icon.svg',
  icon192: 'icon-192.png',
  icon512: 'icon-512.png',
  favicon: 'favicon.ico',
} as const;

/** The scripts that pages start, each a module of `browser/`. */
const SCRIPTS = ['compose', 'note', 'live', 'settings', 'start', 'copy', 'draft'] as const;

export type ScriptName = (typeof SCRIPTS)[number];
export type AssetName = 'style' | keyof typeof PICTURES | ScriptName;

/** The files that pages load, under names with a hash of their content, so that browsers may keep them for good. */
export class Assets {
  /** The URL path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  readonly #byFile = new Map<string, Representation>();

  constructor() {
    const read = (file: string) => readFileSync(new URL(`assets/${file}`, import.meta.url));
    const pictures = Object.entries(PICTURES).map(([name, file]) => [name, this.#add(file, read(file))]);
    const scripts = SCRIPTS.map((name) => {
      const code = bundle(new URL('browser/', import.meta.url), name);
      return [name, this.#add(`${name}.js`, Buffer.from(code))];
    });
    const style = this.#add('style.css', Buffer.concat(STYLES.map(read)));
    this.paths = { style, ...Object.fromEntries([...pictures, ...scripts]) };
  }

  /** The asset of that file name, such as `style-1a2b3c.css`. */
  get(file: string): Representation | undefined {
    return this.#byFile.get(file);
  }

  #add(file: string, body: Buffer): string {
    const [name, extension] = file.split('.') as [string, keyof typeof TYPES];
    const etag = createHash('sha256').update(body).digest('base64url');
    const hashed = `${name}-${etag.slice(0, 10)}.${extension}`;
    const fields = {
      'Content-Type': TYPES[extension],
      'Cache-Control': 'public, max-age=31536000, immutable',
      ...NOSNIFF,
    };
    this.#byFile.set(hashed, new Representation({ body, etag, fields, compress }));
    return `/static/${hashed}`;
  }
}
