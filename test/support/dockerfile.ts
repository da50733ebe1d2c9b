import { readFileSync } from 'node:fs';

/** One instruction of a Dockerfile, for example `RUN` and what is to be run. */
export interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The stages of deploy/Dockerfile, in order, each beginning with its `FROM`. */
export function stagesOfImage(): Instruction[][] {
  const text = readFileSync(new URL('../../deploy/Dockerfile', import.meta.url), 'utf8');
  const stages: Instruction[][] = [];
  for (const line of text
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', '')
    .split('\n')) {
    const [, name, value] = /^(\w+) +(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, value });
  }
  return stages;
}

/** The values of all instructions of that name. */
export function valuesOf(stage: readonly Instruction[], wanted: string): string[] {
  return stage.filter(({ name }) => name === wanted).map(({ value }) => value);
}

/** The program and its arguments in an instruction such as `ENTRYPOINT ["node", "main.js"]`. */
export function argumentsIn(value: string): string[] {
  return JSON.parse(value.slice(value.indexOf('[')));
}
