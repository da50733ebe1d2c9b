import { feedJson } from '../read/views/feed-json.ts';
import { existing, Refusal } from '../refusals.ts';
import { ARGUMENTS } from './arguments.ts';
import { called } from './caller.ts';
import { tool } from './tool.ts';

/** The tools for feeds. */
export const FEED_TOOLS = [
  tool({
    name: 'get_feed',
    title: 'Read the settings of a feed',
    description:
      'Reads the title, description and title image of a feed, and `read_url`, its RSS feed, which can be given to anybody.',
    input: ARGUMENTS.get_feed,
    result: 'Feed',
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    async run({ access, licensing }, input, { caller, base }) {
      const feed = existing((await access.reader(called(caller, input), input.feed)).feed, 'feed');
      return feedJson(feed, base, licensing?.tierOf(feed));
    },
  }),
  tool({
    name: 'update_feed',
    title: 'Change the settings of a feed',
    description:
      'Changes settings of a feed; what is left out stays. Title, description and title image are public. A new read id ' +
      'ends the old read link, and all who read the feed by it must be told the new one.',
    input: ARGUMENTS.update_feed,
    result: 'Feed',
    // A random read id is another one each time.
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    async run({ access, settings, licensing }, { feed: name, password, ...changes }, { caller, base }) {
      const feed = await access.writer(called(caller, { password }), name);
      if (Object.values(changes).every((value) => value === undefined))
        throw new Refusal('invalid_request', 'There is nothing to change: give a setting.');
      const changed = await settings.change(feed, changes);
      return feedJson(changed, base, licensing?.tierOf(changed));
    },
  }),
  tool({
    name: 'delete_feed',
    title: 'Delete a feed',
    description:
      'Deletes a feed with all its notes and pictures, for good: its read link stays empty for ever. There is no undo. ' +
      'Never do it unless the user has asked for just that.',
    input: ARGUMENTS.delete_feed,
    result: 'Deleted',
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    async run({ access, settings }, input, { caller }) {
      const owner = called(caller, input);
      await settings.remove(await access.writer(owner, input.feed), owner);
      return { deleted: true };
    },
  }),
];
