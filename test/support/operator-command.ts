import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { OPERATOR_TOKEN } from './image-settings.ts';

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const COMMAND = ['env', '-u', 'NODE_OPTIONS', process.execPath, MAIN, 'operator'];

/**
 * Runs `operator` in a pipe, with the settings of the one who runs the service.
 * @param after ms until the input comes
 */
export async function operator(
  url: string,
  args: readonly string[],
  { input = '', ...env }: Record<string, string> = {},
  after = 0,
) {
  const [program = '', ...rest] = COMMAND;
  const command = spawn(program, [...rest, ...args], { env: environment(url, env), stdio: 'pipe' });
  setTimeout(() => command.stdin.end(input), after);
  const [out, err, code] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    new Promise((resolve) => command.on('close', resolve)),
  ]);
  return { out, err, code };
}

/**
 * Runs `operator` on a terminal. Returns all that the terminal shows.
 * @param typed what is typed at each question, by how the question ends
 */
export async function operatorOnTerminal(
  url: string,
  args: readonly string[],
  typed: readonly (readonly [question: string, keys: string])[] = [],
) {
  const line = [...COMMAND, ...args].map((word) => `'${word}'`).join(' ');
  const terminal = spawn('script', ['-qec', line, '/dev/null'], { env: environment(url, {}), stdio: 'pipe' });
  const waiting = [...typed];
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (piece: string) => {
    shown += piece;
    if (waiting[0] !== undefined && shown.endsWith(waiting[0][0])) terminal.stdin.write(waiting.shift()![1]);
  });
  const code = await new Promise((resolve) => terminal.on('close', resolve));
  return { shown: shown.replaceAll('\r\n', '\n'), code };
}

function environment(url: string, env: Record<string, string>) {
  return { ...process.env, SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN, OPERATOR_URL: url, ...env };
}
