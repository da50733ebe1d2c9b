import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Refusal, type RefusalCode } from '../refusals.ts';
import { kindOf } from '../requests/json-body.ts';
import type { ToolOutcome } from '../telemetry/tool-outcome.ts';
import { FEED_TOOLS } from './feed-tools.ts';
import { NOTE_TOOLS } from './note-tools.ts';
import { POST_TOOLS } from './post-tools.ts';
import type { Tool, ToolCaller, ToolParts, ToolResult } from './tool.ts';

const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...POST_TOOLS, ...NOTE_TOOLS, ...FEED_TOOLS].map((tool) => [tool.name, tool]),
);

const DELETED = z.object({ deleted: z.literal(true) });

export interface ToolboxOptions {
  readonly parts: ToolParts;
  /** The JSON Schema of a body of the API. */
  readonly schemaOf: (name: Exclude<ToolResult, 'Deleted'>) => object;
  /** Told of every call. Must not throw. */
  readonly observe: (outcome: ToolOutcome) => void;
}

/** The tools as the protocol lists and calls them. */
export class Toolbox {
  readonly list: ListedTool[];
  readonly #parts: ToolParts;
  readonly #observe: ToolboxOptions['observe'];

  constructor({ parts, schemaOf, observe }: ToolboxOptions) {
    this.#parts = parts;
    this.#observe = observe;
    this.list = [...TOOLS.values()].map(({ name, title, description, input, result, hints }) => ({
      name,
      title,
      description,
      inputSchema: schema(z.toJSONSchema(input, { io: 'input' })),
      outputSchema: schema(
        result === 'Deleted' ? z.toJSONSchema(DELETED, { io: 'input' }) : schemaOf(result),
      ),
      annotations: { title, ...hints, openWorldHint: false },
    }));
  }

  has(name: string): boolean {
    return TOOLS.has(name);
  }

  /** Calls a tool that there is. What it refuses is a result, so that the model can read why. */
  async call(name: string, input: unknown, caller: ToolCaller): Promise<CallToolResult> {
    const tool = TOOLS.get(name)!;
    const { requestId } = caller.caller;
    const startedAt = performance.now();
    const outcome = (code?: RefusalCode, error?: unknown) =>
      this.#observe({ tool: name, requestId, code, error, ms: performance.now() - startedAt });
    try {
      const value = await tool.run(this.#parts, parsed(tool, input), caller);
      outcome();
      return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: { ...value } };
    } catch (cause) {
      const refusal =
        cause instanceof Refusal
          ? cause
          : new Refusal('internal', 'Something went wrong on our side.', { cause });
      outcome(refusal.code, refusal.status >= 500 ? refusal.cause : undefined);
      const { message: error, code } = refusal;
      // Not as structured content, which clients hold against the schema of what the tool answers with.
      return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error, code }) }] };
    }
  }
}

/** @throws Refusal `invalid_body` for an argument of another type */
function parsed({ input: schema }: Tool, input: unknown): z.infer<z.ZodObject> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue!.path.join('.');
  const what = path === '' ? 'The arguments' : `The argument "${path}"`;
  throw new Refusal('invalid_body', `${what} must be ${kindOf(issue!)}.`);
}

function schema({ $schema, ...rest }: { readonly $schema?: string }): ListedTool['inputSchema'] {
  return rest as ListedTool['inputSchema'];
}
