import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import * as esbuild from 'esbuild';
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
const FILES = ['icon.svg', 'icon-192.png', 'icon-512.png', 'favicon.ico'] as const;
/** The scripts that pages start, each a module of `browser/`. */
const SCRIPTS = ['feed', 'note', 'read', 'settings', 'start', 'copy', 'leave', 'reachable'] as const;

export type ScriptName = (typeof SCRIPTS)[number];
export type AssetName = (typeof FILES)[number] | 'style.css' | `${ScriptName}.js`;
/** Of sources: in the copy without types (`plain-sources.cjs`) it is `.js`. */
const EXTENSION = extname(import.meta.filename);

/** The files that pages load, under names with a hash of their content, so that browsers may keep them for good. */
export class Assets {
  static #built: Promise<Assets> | undefined;
  /** The URL path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  /** The service worker: it has one address for good, so browsers ask for it each time. */
  readonly worker: Representation;
  readonly #byFile = new Map<string, Representation>();

  private constructor(
    paths: readonly (readonly [AssetName, string])[],
    files: ReadonlyMap<string, Uint8Array>,
    worker: Uint8Array,
  ) {
    this.worker = representation('worker.js', worker, WORKER_FIELDS);
    const withPath = paths.map(([name, file]) => [name, `/static/${file}`]);
    this.paths = Object.fromEntries(withPath);
    for (const [file, body] of files) this.#byFile.set(file, representation(file, body));
  }

  /** Bundles scripts and styles, once in a process, which takes about 0.1 s and writes no files. */
  static build(): Promise<Assets> {
    Assets.#built ??= Assets.#make();
    return Assets.#built;
  }

  static async #make(): Promise<Assets> {
    const files = new Map<string, Uint8Array>();
    const entries = ['styles/style.css', ...SCRIPTS.map((name) => `browser/${name}${EXTENSION}`)];
    try {
      const languages = bundle(`browser/reading/languages${EXTENSION}`, files);
      const bundled = await Promise.all(
        entries.map(async (entry) => [assetName(entry), await bundle(entry, files, languages)] as const),
      );
      const kept = FILES.map((name) => {
        const body = readFileSync(new URL(`assets/${name}`, import.meta.url));
        const file = name.replace('.', `-${hashOf(body)}.`);
        files.set(file, body);
        return [name, file] as const;
      });
      return new Assets([...bundled, ...kept], files, await bundleWorker());
    } finally {
      await esbuild.stop();
    }
  }

  /** The asset of that file name, such as `style-1A2B3C4D.css`. */
  get(file: string): Representation | undefined {
    return this.#byFile.get(file);
  }
}

/** Fields of the service worker, which asks only this origin. */
const WORKER_FIELDS = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': "default-src 'none'; connect-src 'self'",
};

const BUNDLING = {
  absWorkingDir: import.meta.dirname,
  outdir: 'bundled',
  bundle: true,
  minify: true,
  target: 'es2022',
  write: false,
  logLevel: 'silent',
} as const;

/**
 * Bundles an entry with its imports, so that a page fetches one file. What is imported by `import()` becomes a file of its own,
 * which the page fetches when it needs it.
 * @param files get what is made
 * @param languages the file of the module `languages`: bundled once for all pages, because it takes longer than the rest
 * @returns the name of the file
 */
async function bundle(
  entry: string,
  files: Map<string, Uint8Array>,
  languages?: Promise<string>,
): Promise<string> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    format: 'esm',
    plugins: languages ? [importing(languages)] : [],
    ...BUNDLING,
  });
  for (const { path, contents } of outputFiles) files.set(basename(path), contents);
  const [stem, extension] = assetName(entry).split('.');
  const made = outputFiles.map(({ path }) => basename(path));
  return made.find((one) => one.startsWith(`${stem}-`) && one.endsWith(`.${extension}`))!;
}

function assetName(entry: string): AssetName {
  return basename(entry).replace(/\.ts$/, '.js') as AssetName;
}

/** Leaves the module `languages` to its own file. */
function importing(languages: Promise<string>): esbuild.Plugin {
  const resolve = async () => ({ path: `./${await languages}`, external: true });
  return {
    name: 'languages',
    setup: ({ onResolve }) => onResolve({ filter: /\/languages\.[jt]s$/ }, resolve),
  };
}

/** Builds the service worker as one classic script, because not all browsers can load a module as a service worker. */
async function bundleWorker(): Promise<Uint8Array> {
  const entryPoints = [`browser/worker${EXTENSION}`];
  const { outputFiles } = await esbuild.build({ entryPoints, format: 'iife', ...BUNDLING });
  return outputFiles[0]!.contents;
}

function representation(
  file: string,
  body: Uint8Array,
  more: Readonly<Record<string, string>> = {},
): Representation {
  const fields = {
    'Content-Type': TYPES[extname(file).slice(1) as keyof typeof TYPES],
    'Cache-Control': 'public, max-age=31536000, immutable',
    ...NOSNIFF,
    ...more,
  };
  const compress = (bytes: Uint8Array, coding: keyof typeof COMPRESS) => COMPRESS[coding](bytes);
  return new Representation({ body: Buffer.from(body), etag: hashOf(body), fields, compress });
}

function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 16);
}
