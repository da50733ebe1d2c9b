import fc from 'fast-check';
import type { Command } from './command.ts';
import { deleteFeed, removePassword, setPassword, settings } from './feed-commands.ts';
import { postForm, replaceByForm } from './form-commands.ts';
import { change, post, remove, replace } from './note-commands.ts';
import { list, readers } from './read-commands.ts';
import { NAMES } from './values.ts';

const restart = fc.constantFrom('SIGTERM', 'SIGKILL').map(
  (signal): Command => ({
    check: () => true,
    async run(model, service) {
      await service.restart(signal);
      await service.checkAll(model, NAMES);
    },
    toString: () => `restart after ${signal}`,
  }),
);

/** Any command, as often as the others as it takes to fill and empty feeds. */
const weighted: [number, fc.Arbitrary<Command>][] = [
  [30, post],
  [10, postForm],
  [12, replace],
  [8, replaceByForm],
  [12, change],
  [10, remove],
  [12, settings],
  [4, deleteFeed],
  [4, setPassword],
  [3, removePassword],
  [6, list],
  [6, readers],
  [1, restart],
];

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  ...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);
