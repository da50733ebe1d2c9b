import { type Command, WrongArguments } from './command.ts';
import type { Action } from './operator/action.ts';
import { BLOCK_ACTIONS } from './operator/blocks.ts';
import { FEED_ACTIONS } from './operator/feeds.ts';
import { HASH_ACTIONS } from './operator/hash.ts';
import { IMAGE_ACTIONS, IMAGE_WORDS } from './operator/images.ts';
import { REPORT_ACTIONS } from './operator/reports.ts';

const HELP = `npm run operator -- stats
npm run operator -- feeds [--sort bytes|notes|changed|created|name] [--start <start of the name>] [--limit <count>]
npm run operator -- delete <feed>
npm run operator -- password <feed> [--remove]
npm run operator -- block <feed>
npm run operator -- unblock <feed>
npm run operator -- blocks
npm run operator -- takedown <address> [--block]
npm run operator -- reports
npm run operator -- dismiss <report>
npm run operator -- images unreferenced
npm run operator -- images clean
npm run operator -- images move --from db
npm run operator -- images move --from fs --dir <folder as the service sees it>
npm run operator -- images move --from s3 --endpoint <url> --bucket <name> [--region <name>]
npm run operator -- hash <feed>

The running service is asked at OPERATOR_URL, else at PUBLIC_URL, else at this machine's PORT, with SERVICE_OPERATOR_TOKEN. On a
terminal the answer is a text for people, in a pipe the JSON of the API. "-" in place of a feed reads its name from standard
input, so it is in no list of processes. docs/operating.md says what each of them does.

password asks for the new password, or reads it from the next line of standard input; it is never an argument.

unblock opens the name of a feed; with link:<read id> or picture:<hash>, as blocks prints them, what a takedown has closed.

images unreferenced counts what no note refers to in the image store, clean removes it, and move moves pictures into that store
until all are moved; --limit is how many it looks at in one request. Secrets come from variables or files named by them with
_FILE at the end: SERVICE_OPERATOR_TOKEN, and of the store that is moved from, MOVE_S3_ACCESS_KEY and MOVE_S3_SECRET_KEY.

hash prints what stands for a feed in the lines of the log. It asks no service, but needs its secret: SERVICE_SECRET, or
the .secret in DATA_DIR.
`;

const ACTIONS: Readonly<Record<string, Action>> = {
  ...FEED_ACTIONS,
  ...BLOCK_ACTIONS,
  ...REPORT_ACTIONS,
  ...IMAGE_ACTIONS,
  ...HASH_ACTIONS,
};

/** Does from a terminal what the operator's API does. The exit code is 0 if nothing failed and no picture is missing. */
export const command: Command = {
  help: HELP,
  options: ['sort', 'start', 'limit', 'from', 'dir', 'endpoint', 'bucket', 'region'],
  flags: ['block', 'remove'],
  words: [1, 2],
  async run(given, options, env) {
    // Scripts may still use the old form without `images`, from when all operator commands were about pictures.
    const [name = '', ...words] = IMAGE_WORDS.has(given[0]!) ? ['images', ...given] : given;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    const takes = action?.options ?? [];
    if (
      action === undefined ||
      words.length !== (action.takesArgument ? 1 : 0) ||
      Object.keys(options).some((option) => !takes.includes(option))
    )
      throw new WrongArguments();
    return (await action.run(words[0] ?? '', options, env)) ?? 0;
  },
};
