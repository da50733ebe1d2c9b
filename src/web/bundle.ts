import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import * as esbuild from 'esbuild';

/** The scripts that pages start, each a module of `browser/`. */
const SCRIPTS = ['feed', 'note', 'read', 'settings', 'start', 'copy', 'leave', 'reachable'] as const;

/** The styles of all pages, and those of some. */
const STYLES = ['style.css', 'settings-page.css', 'start-page.css'] as const;

export type ScriptName = (typeof SCRIPTS)[number];
export type StyleName = (typeof STYLES)[number];

/** Scripts and styles as pages load them. */
export interface Bundles {
  /** The file that a page names for each entry, for example `style-1A2B3C4D.css` for `style.css`. */
  readonly entries: Readonly<Record<string, string>>;
  /** The text of each file. */
  readonly files: Readonly<Record<string, string>>;
  /** The text of the service worker. */
  readonly worker: string;
}

/** Of sources: in the copy without types (`plain-sources.cjs`) it is `.js`. */
const EXTENSION = extname(import.meta.filename);

const BUNDLING = {
  absWorkingDir: import.meta.dirname,
  outdir: 'bundled',
  bundle: true,
  minify: true,
  target: 'es2022',
  write: false,
  logLevel: 'silent',
} as const;

/** Bundles scripts and styles, which takes about 0.1 s and writes no files. */
export async function bundleAll(): Promise<Bundles> {
  const files: Record<string, string> = {};
  const styles = STYLES.map((name) => `styles/${name}`);
  const sources = [...styles, ...SCRIPTS.map((name) => `browser/${name}${EXTENSION}`)];
  try {
    const languages = bundle(`browser/reading/languages${EXTENSION}`, files);
    const entries = await Promise.all(
      sources.map(async (source) => [entryName(source), await bundle(source, files, languages)]),
    );
    return { entries: Object.fromEntries(entries), files, worker: await bundleWorker() };
  } finally {
    await esbuild.stop();
  }
}

/**
 * Bundles a source with its imports, so that a page fetches one file. What is imported by `import()` becomes a file of its own,
 * which the page fetches when it needs it.
 * @param files get what is made
 * @param languages the file of the module `languages`: bundled once for all pages, because it takes longer than the rest
 * @returns the name of the file
 */
async function bundle(
  source: string,
  files: Record<string, string>,
  languages?: Promise<string>,
): Promise<string> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [source],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    format: 'esm',
    plugins: [...(languages ? [importing(languages)] : []), COLOURS_OF_OLDER_BROWSERS],
    ...BUNDLING,
  });
  for (const { path, text } of outputFiles) files[basename(path)] = text;
  const [stem, extension] = entryName(source).split('.');
  const made = outputFiles.map(({ path }) => basename(path));
  return made.find((one) => one.startsWith(`${stem}-`) && one.endsWith(`.${extension}`))!;
}

function entryName(source: string): string {
  return basename(source).replace(/\.ts$/, '.js');
}

/** Leaves the module `languages` to its own file. */
function importing(languages: Promise<string>): esbuild.Plugin {
  const resolve = async () => ({ path: `./${await languages}`, external: true });
  return {
    name: 'languages',
    setup: ({ onResolve }) => onResolve({ filter: /\/languages\.[jt]s$/ }, resolve),
  };
}

/** A token with a value for light and one for dark. */
const LIGHT_DARK = /(--[\w-]+): light-dark\((.+?), .+?\);/g;

/**
 * Gives browsers without `light-dark()`, as before 2024, the light colours: the phones that ended with iOS 16 are among them. There a
 * property that uses such a token would be unset, so menus and messages would have no ground, and fields no border.
 */
const COLOURS_OF_OLDER_BROWSERS: esbuild.Plugin = {
  name: 'colours of older browsers',
  setup({ onLoad }) {
    onLoad({ filter: /\/tokens\.css$/ }, async ({ path }) => {
      const tokens = await readFile(path, 'utf8');
      const light = Array.from(tokens.matchAll(LIGHT_DARK), ([, name, value]) => `${name}: ${value};`).join(
        '',
      );
      const contents = `${tokens}@supports not (color: light-dark(#000, #000)) { :root { color-scheme: light; ${light} } }`;
      return { contents, loader: 'css' };
    });
  },
};

/** Builds the service worker as one classic script, because not all browsers can load a module as a service worker. */
async function bundleWorker(): Promise<string> {
  const entryPoints = [`browser/worker${EXTENSION}`];
  const { outputFiles } = await esbuild.build({ entryPoints, format: 'iife', ...BUNDLING });
  return outputFiles[0]!.text;
}
