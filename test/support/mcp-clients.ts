import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What a tool answered. */
export interface ToolAnswer {
  isError: boolean;
  /** The structured content; of a refusal its sentence and code. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members freely
  value: any;
}

/** A real client of the protocol. */
export interface McpClient {
  list(): Promise<Tool[]>;
  call(name: string, input?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Two generations of clients: one that speaks the newest revision, one that begins with `initialize`. */
export const CLIENTS = {
  'client 2.4': async (url: string, headers: Record<string, string> = {}): Promise<McpClient> => {
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
    );
    return wrapped(client);
  },
  'sdk 1.32': async (url: string, headers: Record<string, string> = {}): Promise<McpClient> => {
    const client = new OldClient({ name: 'test', version: '1' });
    // Its types are not made for exact optional properties.
    const transport = new OldTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return wrapped(client);
  },
};

function wrapped(client: Client | OldClient): McpClient {
  return {
    list: async () => (await (client as Client).listTools()).tools,
    async call(name, input = {}) {
      const result = await (client as Client).callTool({ name, arguments: input });
      const [first] = result.content as { type: string; text: string }[];
      const text = JSON.parse(first!.text);
      return { isError: result.isError === true, value: result.structuredContent ?? text };
    },
    close: () => client.close(),
  };
}
