import { z } from 'zod';
import { feedJson } from '../read/views/feed-json.ts';
import { existing, Refusal } from '../refusals.ts';
import { FEED, option, tool } from './tool.ts';

/** The tools for feeds. */
export const FEED_TOOLS = [
  tool({
    name: 'get_feed',
    title: 'Read the settings of a feed',
    description:
      'Reads the title, description and title image of a feed, and `read_url`, its RSS feed, which can be given to anybody.',
    input: z.object(FEED),
    result: 'Feed',
    effect: 'reads',
    async run({ access, licensing }, input, { caller, base }) {
      const { feed } = await access.requireReader(caller, input.feed);
      return feedJson(existing(feed, 'feed'), base, licensing?.tierOf(feed));
    },
  }),
  tool({
    name: 'update_feed',
    title: 'Change the settings of a feed',
    description:
      'Changes settings of a feed; what is left out stays. Title, description and title image are public. A new read id ' +
      'ends the old read link, and all who read the feed by it must be told the new one.',
    input: z.object({
      ...FEED,
      title: option('At most 100 characters in one line; empty clears it.'),
      description: option('At most 500 characters in one line; empty clears it.'),
      image: option('The `file` of a picture note of this feed, to be its title image; empty for none.'),
      read_id: option(
        'A new read id, 3 to 64 characters of a-z, 0-9, "-" and "_"; empty for a random one. The old read link ends.',
      ),
      show_sender: z.boolean().describe('Whether readers see who posted a note.').optional(),
    }),
    result: 'Feed',
    effect: 'changes',
    async run({ access, settings, licensing }, { feed: name, password: _, ...changes }, { caller, base }) {
      const feed = await access.requireWriter(caller, name);
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
    input: z.object(FEED),
    result: 'Deleted',
    effect: 'replaces',
    async run({ access, settings }, input, { caller }) {
      await settings.remove(await access.requireWriter(caller, input.feed), caller);
      return { deleted: true };
    },
  }),
];
