import { readSome } from '../../config.ts';
import { readSecret } from '../../storage/files/secret.ts';
import { feedHash } from '../../telemetry/fields.ts';
import type { Action } from './action.ts';
import { Input } from './input.ts';

/** What stands for a feed in the log. */
export const HASH_ACTIONS = {
  hash: {
    takesArgument: true,
    async run(word, _, env) {
      const feed = await new Input().feedName(word);
      const settings = readSome(env, ['secret', 'derivedReadIds', 'storage', 'dataDir']);
      const inFolder = settings.storage === 'fs' ? await readSecret(settings.dataDir, settings) : undefined;
      const secret = settings.secret ?? inFolder?.key;
      if (secret === undefined)
        throw new Error('SERVICE_SECRET must be set as for the service, or DATA_DIR, with its file .secret.');
      process.stdout.write(`${feedHash(secret)(feed)}\n`);
    },
  },
} satisfies Record<string, Action>;
