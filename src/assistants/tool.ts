import { z } from 'zod';
import type { Access, Caller } from '../access/access.ts';
import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Licensing } from '../ingest/licensing.ts';
import type { Posting } from '../ingest/post.ts';
import type { Reader } from '../read/reader.ts';
import { noteSchema } from '../schemas.ts';
import type { FeedLimits } from '../writing/limits.ts';

/** What tools work with: the same as the operations of the API. */
export interface ToolParts {
  readonly access: Pick<Access, 'requireReader' | 'requirePoster' | 'requireWriter' | 'change'>;
  readonly posting: Posting;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Pick<Reader, 'namedList' | 'namedNote' | 'changedNote'>;
  /** If feeds need a license. */
  readonly licensing: Pick<Licensing, 'tierOf'> | undefined;
  readonly limits: FeedLimits;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
}

/** An assistant that the instance has admitted; for a tool with the feed password from the arguments. */
export interface ToolCaller {
  readonly caller: Caller;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** A tool of an assistant. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For a model. */
  readonly description: string;
  /** Checks types, and the length of texts: rules are checked as in the API, with its codes. */
  readonly input: Input;
  /** What it answers with: a body of the API, or one of `OWN_RESULTS`. */
  readonly result: 'Posted' | 'Created' | 'NoteList' | 'Feed' | OwnResult;
  /** Tell clients which calls need the consent of the user. */
  readonly hints: (typeof HINTS)[keyof typeof HINTS];
  /** @throws Refusal as the operation of the API */
  run(parts: ToolParts, input: z.infer<Input>, call: ToolCaller): Promise<object>;
}

export const FOUND_NOTES = z.object({
  notes: z
    .array(
      z.object({
        id: z.string(),
        title: z.string(),
        created_at: z.string(),
        text: z.string().describe('A piece of it in plain text around the words.'),
        url: z.string(),
      }),
    )
    .describe('Newest first.'),
  next: z.string().nullable().describe('The `before` of the next page; null where there is none.'),
});

const VERSIONED_NOTE = noteSchema.extend({
  etag: z.string().describe('Names this version of the note, for edit_note and delete_note.'),
});

/** Results that are no bodies of the API. */
const OWN_RESULTS = {
  Deleted: z.object({ deleted: z.literal(true) }),
  FoundNotes: FOUND_NOTES,
  VersionedNote: VERSIONED_NOTE,
};
type OwnResult = keyof typeof OWN_RESULTS;

export function isOwnResult(result: Tool['result']): result is OwnResult {
  return result in OWN_RESULTS;
}

/** As JSON Schema 2020-12. */
export function ownSchemaOf(result: OwnResult): object {
  return z.toJSONSchema(OWN_RESULTS[result], { io: 'input' });
}

/** MCP hints by the effect of a tool. `replaces` may be repeated without another change, `changes` may not. */
const HINTS = {
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  changes: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  replaces: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
} as const;

/** A tool whose arguments have the types of its schema. */
export function tool<Input extends z.ZodObject>({
  effect,
  ...definition
}: Omit<Tool<Input>, 'hints'> & { readonly effect: keyof typeof HINTS }): Tool {
  return { ...definition, hints: HINTS[effect] } as unknown as Tool;
}

/** Longest text of an argument: as much as a header may have, so that it is no more work than in the API. */
const MAX_TEXT_LENGTH = 16 * 1024;

export const limitedText = z.string().max(MAX_TEXT_LENGTH);
export const text = (description: string) => limitedText.describe(description);
export const option = (description: string) => text(description).optional();
/** Contents of notes, whose limits are in bytes. */
export const content = (description: string) => z.string().describe(description);

/** Of a note that goes away by itself. */
export const EXPIRES = option(
  'When the note goes away by itself: an ISO time such as 2030-01-31T12:00:00Z, or a duration such as 30m, 12h or 7d. ' +
    'Leave it out for a note that stays.',
);

/** The arguments of every tool. */
export const FEED = {
  feed: text(
    'The name of the feed: 1 to 64 characters of a-z, 0-9, "-" and "_". It is a secret key: whoever knows it can ' +
      'write to the feed. Use the one that the user gave you, and never put it into a note.',
  ),
  password: option(
    'The password of the feed, if it has one. With the first note of a new feed it becomes its password.',
  ),
};

export type FeedArguments = z.infer<z.ZodObject<typeof FEED>>;
