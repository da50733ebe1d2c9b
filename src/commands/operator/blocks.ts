import type { Json } from '../../schemas.ts';
import type { Action } from './action.ts';
import { Input } from './input.ts';
import { OperatedService } from './operated-service.ts';
import { sayDone, shortTime, show, table } from './output.ts';

type Block = Json<'Blocks'>['blocks'][number];

/** What a takedown has closed, as `blocks` prints it. */
const CLOSED = /^(link|picture):([A-Za-z0-9_-]+)$/;

/** Closing names, taking down, and opening again. */
export const BLOCK_ACTIONS = {
  block: {
    takesArgument: true,
    async run(word, _, env) {
      const service = new OperatedService(env);
      await service.tell('PUT', `/blocks/${await new Input().feedName(word)}`);
      sayDone('The name is closed: it takes nothing more, and its read link shows an empty feed.');
    },
  },
  unblock: {
    takesArgument: true,
    async run(word, _, env) {
      const service = new OperatedService(env);
      const [, kind, key] = CLOSED.exec(word) ?? [];
      const closed = kind === undefined ? await new Input().feedName(word) : `${kind}s/${key}`;
      await service.tell('DELETE', `/blocks/${closed}`);
      sayDone('It is open again.');
    },
  },
  blocks: {
    async run(_, _options, env) {
      const service = new OperatedService(env);
      const blocks = await service.list('/blocks', (page: Json<'Blocks'>) => page.blocks);
      show({ blocks }, () => blockTable(blocks));
    },
  },
  takedown: {
    takesArgument: true,
    options: ['block'],
    async run(target, { block }, env) {
      const body = { target, block: block !== undefined };
      const taken = await new OperatedService(env).ask<'TakenDown'>('POST', '/takedown', body);
      show(taken, ({ removed }) => `Notes that were removed: ${removed.toLocaleString('en')}`);
    },
  },
} satisfies Record<string, Action>;

function blockTable(blocks: readonly Block[]): string {
  return table(
    ['closed (UTC)', 'what', 'taken down'],
    blocks.map(({ kind, key, target = '', at }) => [
      shortTime(at),
      kind === 'name' ? key : `${kind}:${key}`,
      target,
    ]),
  );
}
