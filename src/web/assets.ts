import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';
import { joinedScript } from './joined-script.ts';

const COMPRESS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
} as const;

/** What pages load beside scripts, by the names that templates use. */
const FILES = {
  style: 'style.css',
  icon: 'icon.svg',
  icon192: 'icon-192.png',
  icon512: 'icon-512.png',
  favicon: 'favicon.ico',
} as const satisfies Record<string, `${string}.${keyof typeof TYPES}`>;

/** The scripts that pages start, each a module of `browser/`. */
const SCRIPTS = ['compose', 'note', 'live', 'settings', 'start', 'copy', 'leave'] as const;

export type ScriptName = (typeof SCRIPTS)[number];
export type AssetName = keyof typeof FILES | ScriptName;

/** The files that pages load, under names that change with their content, so that browsers keep them for good. */
export class Assets {
  /** The path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  readonly #byFile = new Map<string, Representation>();

  constructor() {
    const files = Object.entries(FILES).map(([name, file]) => {
      return [name, this.#add(file, readFileSync(new URL(`assets/${file}`, import.meta.url)))];
    });
    const scripts = SCRIPTS.map((name) => {
      const code = joinedScript(new URL('browser/', import.meta.url), name);
      return [name, this.#add(`${name}.js`, Buffer.from(code))];
    });
    this.paths = Object.fromEntries([...files, ...scripts]);
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
    const compress = (bytes: Uint8Array, coding: 'gzip' | 'br') => COMPRESS[coding](bytes);
    this.#byFile.set(hashed, new Representation({ body, etag, fields, compress }));
    return `/static/${hashed}`;
  }
}
