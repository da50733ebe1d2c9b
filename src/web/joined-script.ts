import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

const IMPORT = /^import (?:(\{[^}]*\}) from )?'\.\/([\w-]+)\.ts';$/gm;
const EXPORT = /^export ((?:async )?(?:function|class|const) (\w+))/gm;

/** This is the copy without types (`plain-sources.cjs`), and the scripts beside it have none either. */
const IS_PLAIN = import.meta.filename.endsWith('.js');

/**
 * A script and all that it imports as one, for a page waits for each file that it has to fetch. Types are stripped. Each
 * module becomes a function that is called once, so it knows only the four forms of the pattern above.
 * @param folder where the modules are; ends with a slash
 */
export function joinedScript(folder: URL, entry: string): string {
  const joined = new Map<string, string>();
  join(entry);
  return [...joined.values()].join('');

  function join(module: string): void {
    if (joined.has(module)) return;
    const source = readFileSync(new URL(`${module}.ts`, folder), 'utf8');
    const exported: string[] = [];
    const code = withoutComments(IS_PLAIN ? source : stripTypeScriptTypes(source))
      .replace(IMPORT, (_, names: string | undefined, imported: string) => {
        join(imported);
        return names === undefined ? '' : `const ${names} = ${variableOf(imported)};`;
      })
      .replace(EXPORT, (_, declaration: string, name: string) => {
        exported.push(name);
        return declaration;
      });
    const rest = /^(?:import|export)\b.*/m.exec(code);
    if (rest !== null) throw new Error(`${module}.ts cannot be joined: ${rest[0]}`);
    joined.set(
      module,
      `const ${variableOf(module)} = (() => {${code}return { ${exported.join(', ')} };})();\n`,
    );
  }
}

function variableOf(module: string): string {
  return `module_${module.replaceAll('-', '_')}`;
}

/** Leaves out lines that are comments, and those that are empty. */
function withoutComments(code: string): string {
  return code.replace(/^\s*(?:\/\/.*|\/\*\*[\s\S]*?\*\/)?\s*\n/gm, '').replace(/^ +| +$/gm, '');
}
