import { createHash, randomBytes } from 'node:crypto';
import { ask, type Reply } from './service.ts';

export const REDIRECT = 'https://assistant.example/callback';

/** A registered client, by hand: for requests that no library would send. */
export class OAuthClient {
  readonly url: string;
  readonly id: string;
  readonly redirectUri: string;
  readonly verifier = randomBytes(32).toString('base64url');
  /** Sent with every request. */
  readonly #headers: Record<string, string>;

  private constructor(url: string, id: string, redirectUri: string, headers: Record<string, string>) {
    this.url = url;
    this.id = id;
    this.redirectUri = redirectUri;
    this.#headers = headers;
  }

  static async register(
    url: string,
    redirectUri = REDIRECT,
    headers: Record<string, string> = {},
  ): Promise<OAuthClient> {
    const metadata = { redirect_uris: [redirectUri], client_name: 'An <assistant>' };
    const { json } = await registered(url, metadata);
    return new OAuthClient(url, json.client_id, redirectUri, headers);
  }

  /** The parameters of a request for consent. */
  request(changes: Record<string, string> = {}): URLSearchParams {
    return new URLSearchParams({
      response_type: 'code',
      client_id: this.id,
      redirect_uri: this.redirectUri,
      code_challenge: challengeOf(this.verifier),
      code_challenge_method: 'S256',
      state: 'a state',
      resource: `${this.url}/mcp`,
      ...changes,
    });
  }

  page(parameters: URLSearchParams = this.request(), headers: Record<string, string> = {}): Promise<Reply> {
    return ask(`${this.url}/oauth/authorize?${parameters}`, { headers: { accept: 'text/html', ...headers } });
  }

  /** Sends the form of the page, as a browser does. */
  consent(
    fields: Record<string, string>,
    headers: Record<string, string> = {},
    parameters = this.request(),
  ): Promise<Reply> {
    const body = new URLSearchParams([...parameters, ...Object.entries(fields)]);
    return ask(`${this.url}/api/oauth/authorize`, {
      method: 'POST',
      body,
      headers: { 'sec-fetch-site': 'same-origin', ...this.#headers, ...headers },
    });
  }

  async code(password: string): Promise<string> {
    return answerIn(await this.consent({ password })).get('code')!;
  }

  token(fields: Record<string, string>, url = this.url): Promise<Reply> {
    const body = new URLSearchParams({ client_id: this.id, ...fields });
    return ask(`${url}/oauth/token`, { method: 'POST', body, headers: this.#headers });
  }

  exchange(code: string, changes: Record<string, string> = {}, url = this.url): Promise<Reply> {
    const { redirectUri: redirect_uri, verifier: code_verifier } = this;
    const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier };
    return this.token({ ...fields, ...changes }, url);
  }

  refresh(token: string, changes: Record<string, string> = {}, url = this.url): Promise<Reply> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token, ...changes }, url);
  }
}

export function registered(url: string, metadata: object): Promise<Reply> {
  return ask(`${url}/oauth/register`, {
    method: 'POST',
    body: JSON.stringify(metadata),
    headers: { 'content-type': 'application/json' },
  });
}

/** The S256 code challenge of a verifier. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/** What an answer brings back to the client. */
export function answerIn(reply: Reply): URLSearchParams {
  return new URL(reply.headers.get('location') ?? 'none:').searchParams;
}

/** Whether tools can be called with a token. */
export async function opensTools(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const { status } = await ask(`${url}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...headers,
    },
  });
  return status;
}
