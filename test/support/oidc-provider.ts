import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** What the provider knows of a person. */
export type Account = Readonly<Record<string, unknown>>;

export const CLIENT = { id: 'notes', secret: 'a secret of notes: %+' };

/** A real OpenID Connect provider whose people need no password: whoever comes is asked for a name alone. */
export class TestProvider {
  readonly url: string;
  /** People by the name that they give. */
  readonly accounts: Record<string, Account>;
  /** Asked for since the start, paths without query. */
  readonly asked: string[] = [];
  /** Takes a request in the place of the provider, if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  #provider: Provider;
  /** Where it may lead back to, from the next `renew` on. */
  readonly redirectUris: string[];
  /** How clients say who they are. */
  authMethod: 'client_secret_post' | 'client_secret_basic' = 'client_secret_post';

  private constructor(url: string, redirectUris: string[], accounts: Record<string, Account>) {
    this.url = url;
    this.accounts = accounts;
    this.redirectUris = redirectUris;
    this.#provider = this.#make();
  }

  /** Starts one that leads back to instances at these addresses; it ends when the test ends. */
  static async start(
    t: Scope,
    publicUrls: readonly string[],
    accounts: Record<string, Account>,
  ): Promise<TestProvider> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new TestProvider(
      url,
      publicUrls.map((base) => `${base}/api/oidc/callback`),
      accounts,
    );
    server.on('request', (request, response) => provider.#handle(request, response));
    return provider;
  }

  /** Goes on with other keys, and, where it is given, under another name. */
  renew(issuer = this.url): void {
    this.#provider = this.#make(issuer);
  }

  /** What it is asked for breaks off. */
  breakDown(): void {
    this.intercept = (request) => {
      request.socket.destroy();
      return true;
    };
  }

  /** Is as it was at the start. */
  recover(): void {
    this.intercept = () => false;
  }

  /**
   * Goes through the provider as a browser does.
   * @param departure where the instance has led
   * @param name who comes; nobody lets go at the first page
   * @returns where the provider leads back
   */
  async visit(departure: string, name: string | undefined): Promise<string> {
    const cookies = new Map<string, string>();
    let url = departure;
    for (let step = 0; step < 10; step += 1) {
      const isForm = url.includes('/interaction/');
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; ') },
        ...(isForm && { method: 'POST', body: new URLSearchParams(name === undefined ? {} : { name }) }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(key, value);
      }
      const location = response.headers.get('location');
      if (location === null)
        throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
      url = new URL(location, this.url).href;
      if (!url.startsWith(`${this.url}/`)) return url;
    }
    throw new Error('the provider leads in a circle');
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url!, this.url);
    this.asked.push(pathname);
    if (this.intercept(request, response)) return;
    const isInteraction = pathname.startsWith('/interaction/');
    if (isInteraction) this.#interact(request, response).catch((error) => response.destroy(error));
    else this.#provider.callback()(request, response);
  }

  /** A page that asks for a name, and what comes of it. */
  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/html');
      response.end(
        '<form method="post"><label>Name <input name="name"></label><button>Go on</button></form>',
      );
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const accountId = new URLSearchParams(Buffer.concat(chunks).toString()).get('name');
    const result =
      accountId === null
        ? { error: 'access_denied', error_description: 'Nobody wants to sign in.' }
        : { login: { accountId } };
    await this.#provider.interactionFinished(request, response, result);
  }

  #make(issuer = this.url): Provider {
    const provider = new Provider(issuer, this.#configuration());
    provider.on('server_error', (_, error) => console.error(error));
    return provider;
  }

  #configuration(): Configuration {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
    return {
      clients: [
        { client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [...this.redirectUris] },
      ],
      clientDefaults: { token_endpoint_auth_method: this.authMethod },
      clientAuthMethods: [this.authMethod],
      jwks: { keys: [key] },
      cookies: { keys: ['a key'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      claims: {
        openid: ['sub', 'nickname'],
        profile: ['name', 'preferred_username'],
        email: ['email', 'email_verified'],
      },
      conformIdTokenClaims: true,
      findAccount: (_, accountId) => {
        const account = this.accounts[accountId];
        return account && { accountId, claims: async () => ({ sub: accountId, ...account }) };
      },
      loadExistingGrant: async (ctx) => {
        const grant = new ctx.oidc.provider.Grant({
          clientId: ctx.oidc.client!.clientId,
          accountId: ctx.oidc.session!.accountId!,
        });
        grant.addOIDCScope('openid profile email');
        await grant.save();
        return grant;
      },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 600,
        IdToken: 600,
        Interaction: 600,
        Session: 600,
        Grant: 600,
      },
    };
  }
}

/** Settings of an instance at an address of its own with which people of a provider sign in. */
export function signInEnvironment(provider: Pick<TestProvider, 'url'>, publicUrl: string) {
  return {
    PORT: new URL(publicUrl).port,
    PUBLIC_URL: publicUrl,
    SERVICE_OIDC_ISSUER: provider.url,
    SERVICE_OIDC_CLIENT_ID: CLIENT.id,
    SERVICE_OIDC_CLIENT_SECRET: CLIENT.secret,
  };
}
