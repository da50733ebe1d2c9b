import type { Mcp } from '../assistants/mcp.ts';
import type { ToolParts } from '../assistants/tool.ts';
import { largestRequestBytes } from '../config.ts';
import { Gate } from '../gate.ts';
import { type Answer, json } from '../http/answer.ts';
import { Refusal } from '../refusals.ts';
import { isJson } from '../requests/content-type.ts';
import { parseMessage } from '../requests/json-message.ts';
import type { ToolOutcome } from '../telemetry/tool-outcome.ts';
import type { Site } from '../web/site.ts';
import type { DescribedOperation } from './operation.ts';

export interface McpOperationParts extends ToolParts {
  readonly site: Site;
  /** Told of every call of a tool. */
  readonly observeTool: (outcome: ToolOutcome) => void;
}

/** Largest body, bytes: some pictures in base64. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A larger body is parsed and worked on with few others at once, because it takes its size again and again. */
const LARGE_BYTES = 256 * 1024;
const LARGE_AT_ONCE = 4;
/** Messages in one request, which an old revision allows. */
const MAX_MESSAGES = 20;

/** What assistants call. */
export function mcpOperation(parts: McpOperationParts): DescribedOperation {
  const limit = Math.min(MAX_BYTES, largestRequestBytes(parts.maxImageBytes));
  const large = new Gate(LARGE_AT_ONCE);
  let loaded: Promise<Mcp> | undefined;
  return {
    id: 'mcp',
    method: 'POST',
    path: '/mcp',
    access: 'assistant',
    async handle(exchange, caller) {
      // Else it is a post to a feed of that name.
      if (!isJson(exchange.header('content-type')))
        throw new Refusal('reserved_feed', 'That feed name is reserved.');
      const body = await exchange.body(limit);
      const answer = async (): Promise<Answer> => {
        const message = parseMessage(body);
        if (message === undefined) return protocolError(-32700, 'The body is not JSON in UTF-8.');
        if (Array.isArray(message) && message.length > MAX_MESSAGES)
          return protocolError(-32600, `There may be at most ${MAX_MESSAGES} messages.`);
        loaded ??= load(parts);
        return (await loaded).answer({ header: (name) => exchange.header(name), message }, caller);
      };
      return body.length > LARGE_BYTES ? large.run(answer) : answer();
    },
  };
}

/** When somebody first calls, because the SDK takes time to load and much memory. */
async function load({ site, observeTool, ...parts }: McpOperationParts): Promise<Mcp> {
  const { Mcp } = await import('../assistants/mcp.ts');
  const { schemaOf } = await import('./schemas.ts');
  return new Mcp({ parts, schemaOf, observe: observeTool, title: site.title });
}

/** An error of JSON-RPC 2.0, where there is no request that it could be the answer to. */
function protocolError(code: number, message: string): Answer {
  return json(400, { jsonrpc: '2.0', id: null, error: { code, message } });
}
