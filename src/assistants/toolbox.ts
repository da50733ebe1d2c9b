import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Refusal, type RefusalCode } from '../refusals.ts';
import { kindOf } from '../requests/json-body.ts';
import type { ToolOutcome } from '../telemetry/events.ts';
import { FEED_TOOLS } from './feed-tools.ts';
import { NOTE_TOOLS } from './note-tools.ts';
import { POST_TOOLS } from './post-tools.ts';
import { HINTS, type Tool, type ToolCaller, type ToolParts } from './tool.ts';

const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...POST_TOOLS, ...NOTE_TOOLS, ...FEED_TOOLS].map((tool) => [tool.name, tool]),
);

const DELETED = z.object({ deleted: z.literal(true) });

export interface ToolboxOptions {
  readonly parts: ToolParts;
  /** The JSON Schema of a body of the API. */
  readonly schemaOf: (name: Exclude<Tool['result'], 'Deleted'>) => object;
  /** Called after every call of a tool. Must not throw. */
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
    this.list = [...TOOLS.values()].map(({ name, title, description, input, result, effect }) => ({
      name,
      title,
      description,
      inputSchema: withoutDialect(z.toJSONSchema(input, { io: 'input' })),
      outputSchema: withoutDialect(
        result === 'Deleted' ? z.toJSONSchema(DELETED, { io: 'input' }) : schemaOf(result),
      ),
      annotations: { title, ...HINTS[effect], openWorldHint: false },
    }));
  }

  has(name: string): boolean {
    return TOOLS.has(name);
  }

  /** Calls an existing tool. A refusal is a result, so that the model can read it. */
  async call(name: string, input: unknown, caller: ToolCaller): Promise<CallToolResult> {
    const tool = TOOLS.get(name)!;
    const { requestId } = caller.caller;
    const startedAt = performance.now();
    const outcome = (code?: RefusalCode, error?: unknown) =>
      this.#observe({ tool: name, requestId, code, error, ms: performance.now() - startedAt });
    try {
      const value = await tool.run(this.#parts, parse(tool, input), caller);
      outcome();
      return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: { ...value } };
    } catch (cause) {
      const refusal =
        cause instanceof Refusal
          ? cause
          : new Refusal('internal', 'Something went wrong on our side.', { cause });
      outcome(refusal.code, refusal.status >= 500 ? refusal.cause : undefined);
      const { message: error, code } = refusal;
      // Not as structured content, which clients check against the output schema.
      return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error, code }) }] };
    }
  }
}

/** @throws Refusal `invalid_body` for an argument of another type */
function parse({ input: schema }: Tool, input: unknown): z.infer<z.ZodObject> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue!.path.join('.');
  const what = path === '' ? 'The arguments' : `The argument "${path}"`;
  throw new Refusal('invalid_body', `${what} must be ${kindOf(issue!)}.`);
}

function withoutDialect({ $schema, ...rest }: { readonly $schema?: string }): ListedTool['inputSchema'] {
  return rest as ListedTool['inputSchema'];
}
