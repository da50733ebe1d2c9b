import pLimit from 'p-limit';
import type { Mcp } from '../assistants/mcp.ts';
import { largestRequestBytes } from '../config.ts';
import { type Answer, json } from '../http/answer.ts';
import { Refusal } from '../refusals.ts';
import { parseMessage } from '../requests/bodies.ts';
import { isJson } from '../requests/content-type.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';

/** Largest body, bytes; it holds pictures in base64. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Few larger bodies are handled at once, because each takes several times its size. */
const LARGE_BYTES = 256 * 1024;
const LARGE_AT_ONCE = 4;
/** Limit of messages in one request, which old revisions of MCP allow. */
const MAX_MESSAGES = 20;

/** The MCP endpoint for assistants. */
export function mcpOperation(parts: OperationParts): DescribedOperation {
  const limit = Math.min(MAX_BYTES, largestRequestBytes(parts.maxImageBytes));
  const large = pLimit(LARGE_AT_ONCE);
  let loaded: Promise<Mcp> | undefined;
  return operation('mcp', 'POST /mcp', { access: 'assistant' }, async (exchange, caller) => {
    // Any other body is a post to a feed of that name.
    if (!isJson(exchange.header('content-type')))
      throw new Refusal('reserved_feed', 'That feed name is reserved.');
    const body = await exchange.body(limit);
    const answer = async (): Promise<Answer> => {
      const message = parseMessage(body);
      if (message === undefined) return protocolError(-32700, 'The body is not JSON in UTF-8.');
      if (Array.isArray(message) && message.length > MAX_MESSAGES)
        return protocolError(-32600, `There may be at most ${MAX_MESSAGES} messages.`);
      loaded ??= load(parts);
      return (await loaded).answer(exchange, message, caller);
    };
    return body.length > LARGE_BYTES ? large(answer) : answer();
  });
}

/** Called at the first request, because the SDK takes time and much memory. */
async function load({ site, observeTool, ...parts }: OperationParts): Promise<Mcp> {
  const { Mcp } = await import('../assistants/mcp.ts');
  const { schemaOf } = await import('../schemas.ts');
  return new Mcp({ parts, schemaOf, observe: observeTool, title: site.title });
}

/** A JSON-RPC 2.0 error that answers no particular request. */
function protocolError(code: number, message: string): Answer {
  return json(400, { jsonrpc: '2.0', id: null, error: { code, message } });
}
