import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = new URL('../..', import.meta.url).pathname;

/** The blocks of code of one language below a heading of a document, down to the next heading. */
export function blocksOf(document: string, heading: string, language = 'sh'): string[] {
  const text = readFileSync(new URL(document, `file://${ROOT}`), 'utf8');
  const section = text.split(/^(?=#+ )/m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block]) => block!,
  );
}

/** The one block below a heading that holds some text. Throws unless there is one. */
export function blockWith(document: string, heading: string, part: string, language?: string): string {
  const [block, ...more] = blocksOf(document, heading, language).filter((block) => block.includes(part));
  if (block === undefined || more.length > 0)
    throw new Error(
      `${document}, "${heading}": ${more.length + Number(block !== undefined)} blocks have "${part}"`,
    );
  return block;
}

/**
 * Runs a block of a document with the shell, in the folder of the project.
 * @param places what the paths in it are here
 */
export async function runBlock(
  block: string,
  env: Record<string, string>,
  places: Record<string, string> = {},
): Promise<void> {
  let script = block;
  for (const [path, place] of Object.entries(places)) script = script.replaceAll(path, place);
  // Nothing else of the environment, because tools read variables of their own.
  const { PATH, HOME } = process.env;
  await run('sh', ['-euc', script], { cwd: ROOT, env: { PATH, HOME, ...env } });
}
