import type { z } from 'zod';
import type { Access, Caller } from '../access/access.ts';
import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Licensing } from '../ingest/licensing.ts';
import type { Posting } from '../ingest/post.ts';
import type { Reader } from '../read/reader.ts';
import type { FeedLimits } from '../storage/storage.ts';

/** What tools work with: the same as the operations of the API. */
export interface ToolParts {
  readonly access: Pick<Access, 'reader' | 'poster' | 'writer'>;
  readonly posting: Posting;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Pick<Reader, 'namedList' | 'namedNote'>;
  /** Where feeds need a license. */
  readonly licensing: Pick<Licensing, 'tierOf'> | undefined;
  /** What a feed may hold. */
  readonly limits: FeedLimits;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
}

/** Who calls a tool. The instance has let them in; the password of a feed is an argument of each call. */
export interface ToolCaller {
  readonly caller: Caller;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** The bodies of the API that tools answer with. */
export type ToolResult = 'Posted' | 'Created' | 'NoteList' | 'Note' | 'Feed' | 'Deleted';

/** What a client may do with a tool without asking its user. */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  /** It overwrites or deletes. */
  readonly destructiveHint: boolean;
  /** The same call again changes nothing more. */
  readonly idempotentHint: boolean;
}

/** A tool of an assistant. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For a model. */
  readonly description: string;
  /** Types only: the rules of values are those of the API, with its codes. */
  readonly input: Input;
  readonly result: ToolResult;
  readonly hints: ToolHints;
  /** @throws Refusal as the operation of the API */
  run(parts: ToolParts, input: z.infer<Input>, call: ToolCaller): Promise<object>;
}

/** A tool whose arguments have the types of its schema. */
export function tool<Input extends z.ZodObject>(definition: Tool<Input>): Tool {
  return definition as unknown as Tool;
}
