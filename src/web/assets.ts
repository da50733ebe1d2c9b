import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { NOSNIFF } from '../http/answer.ts';
import { compressOnce, Representation } from '../http/representation.ts';
import type { Bundles, ScriptName, StyleName } from './bundle.ts';

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
} as const;

/** Files of `assets/`. */
const FILES = ['icon.svg', 'icon-192.png', 'icon-512.png', 'favicon.ico'] as const;

export type AssetName = (typeof FILES)[number] | StyleName | `${ScriptName}.js`;

/** In the copy of the sources (`plain-sources.cjs`): what is bundled already. */
const BUNDLED = new URL('bundles.json', import.meta.url);

/** The files that pages load, under names with a hash of their content, so that browsers may keep them for good. */
export class Assets {
  static #built: Promise<Assets> | undefined;
  /** The URL path of each. */
  readonly paths: Readonly<Record<AssetName, string>>;
  /** The service worker: it has one address for good, so browsers ask for it each time. */
  readonly worker: Representation;
  readonly #byFile = new Map<string, Representation>();

  private constructor(
    names: Readonly<Record<string, string>>,
    bodies: ReadonlyMap<string, Buffer>,
    worker: Buffer,
  ) {
    this.worker = representation('worker.js', worker, WORKER_FIELDS);
    const withPath = Object.entries(names).map(([name, file]) => [name, `/static/${file}`]);
    this.paths = Object.fromEntries(withPath);
    for (const [file, body] of bodies) this.#byFile.set(file, representation(file, body));
  }

  /** Loads scripts and styles, or bundles them, once in a process, which takes about 0.1 s and writes no files. */
  static build(): Promise<Assets> {
    Assets.#built ??= Assets.#make();
    return Assets.#built;
  }

  static async #make(): Promise<Assets> {
    const { entries, files, worker } = await loadBundles();
    const bodies = new Map(Object.entries(files).map(([file, text]) => [file, Buffer.from(text)]));
    const kept = FILES.map((name) => {
      const body = readFileSync(new URL(`assets/${name}`, import.meta.url));
      const file = name.replace('.', `-${hashOf(body)}.`);
      bodies.set(file, body);
      return [name, file] as const;
    });
    return new Assets({ ...entries, ...Object.fromEntries(kept) }, bodies, Buffer.from(worker));
  }

  /** The asset of that file name, such as `style-1A2B3C4D.css`. */
  get(file: string): Representation | undefined {
    return this.#byFile.get(file);
  }
}

async function loadBundles(): Promise<Bundles> {
  if (existsSync(BUNDLED)) return JSON.parse(readFileSync(BUNDLED, 'utf8'));
  const { bundleAll } = await import('./bundle.ts');
  return bundleAll();
}

/** Fields of the service worker, which asks only this origin. */
const WORKER_FIELDS = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': "default-src 'none'; connect-src 'self'",
};

function representation(
  file: string,
  body: Buffer,
  more: Readonly<Record<string, string>> = {},
): Representation {
  const fields = {
    'Content-Type': TYPES[extname(file).slice(1) as keyof typeof TYPES],
    'Cache-Control': 'public, max-age=31536000, immutable',
    ...NOSNIFF,
    ...more,
  };
  return new Representation({ body, etag: hashOf(body), fields, compress: compressOnce });
}

function hashOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 16);
}
