import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

const IMPORT = /^import (?:(\{[^}]*\}) from )?'\.\/([\w-]+)\.ts';$/gm;
const EXPORT = /^export ((?:async )?(?:function|class|const) (\w+))/gm;
const COMMENTS_AND_BLANK_LINES = /^\s*(?:\/\/.*|\/\*\*[\s\S]*?\*\/)?\s*\n/gm;
/** Stripped types leave runs of spaces; no literal may contain one. */
const SPACES = /^ +| +$| +(?= )/gm;

/** True in the copy of the sources without types (`plain-sources.cjs`). */
const IS_PLAIN = import.meta.filename.endsWith('.js');

/**
 * Bundles a browser script with its imports, so that a page fetches one file. Each module becomes a function that is called
 * once and returns its exports. Only the imports and exports of the patterns above are supported; others throw. A real
 * bundler would need a build, which the service does without.
 * @param folder of the modules; ends with a slash
 */
export function bundle(folder: URL, entry: string): string {
  const modules = new Map<string, string>();
  add(entry);
  return [...modules.values()].join('');

  function add(name: string): void {
    if (modules.has(name)) return;
    const source = readFileSync(new URL(`${name}.ts`, folder), 'utf8');
    const exported: string[] = [];
    const code = (IS_PLAIN ? source : stripTypeScriptTypes(source))
      .replace(COMMENTS_AND_BLANK_LINES, '')
      .replace(SPACES, '')
      .replace(IMPORT, (_, names: string | undefined, imported: string) => {
        add(imported);
        return names === undefined ? '' : `const ${names} = ${variableOf(imported)};`;
      })
      .replace(EXPORT, (_, declaration: string, exportedName: string) => {
        exported.push(exportedName);
        return declaration;
      });
    const [unsupported] = /^(?:import|export)\b.*/m.exec(code) ?? [];
    if (unsupported !== undefined) throw new Error(`${name}.ts cannot be bundled: ${unsupported}`);
    modules.set(name, `const ${variableOf(name)} = (() => {${code}return { ${exported.join(', ')} };})();\n`);
  }
}

function variableOf(module: string): string {
  return `module_${module.replaceAll('-', '_')}`;
}
