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
  png: 'image/png',
  ico: 'image/x-icon',
} as const;

/** Files of `assets/`. */
const FILES = ['style.css', 'icon.svg', 'icon-192.png', 'icon-512.png', 'favicon.ico'] as const;
/** The scripts that pages start, each a module of `browser/`. */
const SCRIPTS = ['compose', 'note', 'live', 'settings', 'start', 'copy', 'draft'] as const;

export type ScriptName = (typeof SCRIPTS)[number];
export type AssetName = (typeof FILES)[number] | `${ScriptName}.js`;

/** The files that pages load, under names with a hash of their content, so that browsers may keep them for good. */
export class Assets {
  /** The URL path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  readonly #byFile = new Map<string, Representation>();

  constructor() {
    const bodies = [
      ...FILES.map((file) => [file, readFileSync(new URL(`assets/${file}`, import.meta.url))] as const),
      ...SCRIPTS.map((name) => [`${name}.js`, Buffer.from(bundle(name))] as const),
    ];
    const paths = bodies.map(([file, body]) => [file, this.#add(file, body)]);
    this.paths = Object.fromEntries(paths);
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
    const compress = (bytes: Uint8Array, coding: keyof typeof COMPRESS) => COMPRESS[coding](bytes);
    this.#byFile.set(hashed, new Representation({ body, etag, fields, compress }));
    return `/static/${hashed}`;
  }
}

const IMPORT = /^import (?:(\{[^}]*\}) from )?'\.\/([\w-]+)\.ts';$/gm;
const EXPORT = /^export ((?:async )?(?:function|class|const) (\w+))/gm;
const COMMENTS_AND_BLANK_LINES = /^\s*(?:\/\/.*|\/\*\*[\s\S]*?\*\/)?\s*\n/gm;
/** Stripped types leave runs of spaces; no literal may contain one. */
const SPACES = /^ +| +$| +(?= )/gm;
/** True in the copy of the sources without types (`plain-sources.cjs`). */
const IS_PLAIN = import.meta.filename.endsWith('.js');

/**
 * A script of `browser/` with its imports, so that a page fetches one file. Each module becomes a function that is called
 * once and returns its exports. Only the imports and exports of the patterns above are supported; others throw. A real
 * bundler would need a build, which the service does without.
 */
function bundle(entry: string): string {
  const modules = new Map<string, string>();
  add(entry);
  return `const m = {};\n${[...modules.values()].join('')}`;

  function add(name: string): void {
    if (modules.has(name)) return;
    const source = readFileSync(new URL(`browser/${name}.ts`, import.meta.url), 'utf8');
    const exported: string[] = [];
    const code = (IS_PLAIN ? source : stripTypeScriptTypes(source))
      .replace(COMMENTS_AND_BLANK_LINES, '')
      .replace(SPACES, '')
      .replace(IMPORT, (_, names: string | undefined, imported: string) => {
        add(imported);
        return names === undefined ? '' : `const ${names} = m['${imported}'];`;
      })
      .replace(EXPORT, (_, declaration: string, exportedName: string) => {
        exported.push(exportedName);
        return declaration;
      });
    const [unsupported] = /^(?:import|export)\b.*/m.exec(code) ?? [];
    if (unsupported !== undefined) throw new Error(`${name}.ts cannot be bundled: ${unsupported}`);
    modules.set(name, `m['${name}'] = (() => {${code}return { ${exported.join(', ')} };})();\n`);
  }
}
