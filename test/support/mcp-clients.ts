import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What a tool answered. */
export interface ToolAnswer {
  isError: boolean;
  /** The structured content; of a refusal its sentence and code. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member of an answer
  value: any;
}

/** A real client of the protocol. */
export interface McpClient {
  list(): Promise<Tool[]>;
  call(name: string, input?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** What a client remembers of its way in. */
export interface OAuthMemory extends OAuthClientProvider {
  /** The page that its user was led to. */
  readonly opened: URL | undefined;
  clientInformation(): OAuthClientInformationMixed | undefined;
  tokens(): OAuthTokens | undefined;
  saveTokens(tokens: OAuthTokens): void;
}

/** Two generations of clients: one that speaks the newest revision, one that begins with `initialize`. */
export const CLIENTS = {
  'client 2.4': async (
    url: string,
    headers: Record<string, string> = {},
    authProvider?: OAuthMemory,
    answer?: URLSearchParams,
  ): Promise<McpClient> => {
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
    const options = { requestInit: { headers }, ...(authProvider && { authProvider }) };
    const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), options);
    if (answer !== undefined) await transport().finishAuth(answer);
    await client.connect(transport());
    return wrapped(client);
  },
  'sdk 1.32': async (
    url: string,
    headers: Record<string, string> = {},
    authProvider?: OAuthMemory,
    answer?: URLSearchParams,
  ): Promise<McpClient> => {
    const client = new OldClient({ name: 'test', version: '1' });
    // The types of the two are not made for each other, nor for exact optional properties.
    const options = { requestInit: { headers }, ...(authProvider && { authProvider }) } as never;
    const transport = () => new OldTransport(new URL(`${url}/mcp`), options);
    if (answer !== undefined) await transport().finishAuth(answer.get('code')!);
    await client.connect(transport() as Parameters<typeof client.connect>[0]);
    return wrapped(client);
  },
};

/** A client's memory for its way in, empty at first. */
export function oauthMemory(): OAuthMemory {
  let information: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  let opened: URL | undefined;
  let discovered: OAuthDiscoveryState | undefined;
  return {
    redirectUrl: 'http://localhost:7777/callback',
    clientMetadata: { redirect_uris: ['http://localhost:7777/callback'], client_name: 'A test' },
    get opened() {
      return opened;
    },
    clientInformation: () => information,
    saveClientInformation: (value) => {
      information = value;
    },
    tokens: () => tokens,
    saveTokens: (value) => {
      tokens = value;
    },
    redirectToAuthorization: (value) => {
      opened = value;
    },
    saveCodeVerifier: (value) => {
      verifier = value;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (value) => {
      discovered = value;
    },
    discoveryState: () => discovered,
  };
}

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
