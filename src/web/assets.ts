import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';

const COMPRESS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

/** What pages load beside scripts, by the names that templates use. */
const FILES = {
  style: 'style.css',
  icon: 'icon.svg',
} as const satisfies Record<string, `${string}.${keyof typeof TYPES}`>;

export type AssetName = keyof typeof FILES;

/** The scripts that pages start, each a file of `browser/`; they import others from there. */
const SCRIPTS = ['compose', 'live', 'note', 'settings', 'start', 'leave'] as const;

export type ScriptName = (typeof SCRIPTS)[number];

/** A script, and all that it imports, so that a page can have everything fetched at once. */
export interface Script {
  readonly path: string;
  readonly imports: readonly string[];
}

const IMPORT = /^((?:import|export)\b[^'"]*['"]\.\/)([\w-]+\.ts)(['"])/gm;

/** The files that pages load, under names that change with their content, so that browsers keep them for good. */
export class Assets {
  /** The path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  readonly scripts: Readonly<Record<ScriptName, Script>>;
  readonly #byFile = new Map<string, Representation>();
  readonly #modules = new Map<string, Script>();

  constructor() {
    const paths = Object.entries(FILES).map(([name, file]) => {
      return [name, this.#add(file, readFileSync(new URL(`assets/${file}`, import.meta.url)))];
    });
    this.paths = Object.fromEntries(paths);
    const scripts = SCRIPTS.map((name) => [name, this.#module(`${name}.ts`)]);
    this.scripts = Object.fromEntries(scripts);
  }

  /** The asset of that file name, such as `style-1a2b3c.css`. */
  get(file: string): Representation | undefined {
    return this.#byFile.get(file);
  }

  /** A script as browsers run it. Its hash covers what it imports, because their hashed names are in it. */
  #module(file: string): Script {
    const known = this.#modules.get(file);
    if (known !== undefined) return known;
    const source = readFileSync(new URL(`browser/${file}`, import.meta.url), 'utf8');
    const imports = new Set<string>();
    const code = stripTypeScriptTypes(source).replace(IMPORT, (_, before, imported, after) => {
      const script = this.#module(imported);
      for (const path of [script.path, ...script.imports]) imports.add(path);
      return before + script.path.slice('/static/'.length) + after;
    });
    const script = { path: this.#add(file.replace(/ts$/, 'js'), Buffer.from(code)), imports: [...imports] };
    this.#modules.set(file, script);
    return script;
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
