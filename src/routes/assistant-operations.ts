import pLimit from 'p-limit';
import { reservedFeed } from '../access/access.ts';
import type { Session } from '../access/cookies.ts';
import type { Mcp } from '../assistants/mcp.ts';
import { largestRequestBytes } from '../feeds/limits.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import {
  AUTHORIZATION_PARAMETERS,
  type Issuer,
  parseAuthorizationRequest,
  redirectWith,
  resourceOf,
} from '../oauth/authorization.ts';
import type { OAuth } from '../oauth/oauth.ts';
import { OAuthError, type OAuthErrorCode } from '../oauth/oauth-error.ts';
import { once } from '../once.ts';
import { existing, Refusal } from '../refusals.ts';
import { formBody, parseMessage } from '../requests/bodies.ts';
import { isJson } from '../requests/content-type.ts';
import { authorizePage, authorizePolicy, passwordProblem } from '../web/access-pages.ts';
import { pageAnswer } from '../web/page.ts';
import { withVisitor } from '../web/site.ts';
import { callerOf, refuseAllButOwnPages } from './caller.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { redirect, seeOther } from './redirects.ts';

/** Largest body, bytes; it holds pictures in base64. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Few larger bodies are handled at once, because each takes several times its size. They are parsed on a thread: 100 ms. */
const LARGE_BYTES = 256 * 1024;
const LARGE_AT_ONCE = 4;
/** Limit of messages in one request, which old revisions of MCP allow. */
const MAX_MESSAGES = 20;
/** Longest id of a message, in UTF-16 units: the answer repeats it. */
const MAX_ID_LENGTH = 1_000;

/** The MCP endpoint for assistants. */
function mcpOperation(parts: OperationParts): DescribedOperation {
  const limit = Math.min(MAX_BYTES, largestRequestBytes(parts.maxImageBytes));
  const large = pLimit(LARGE_AT_ONCE);
  const loaded = once(() => load(parts));
  return operation('mcp', 'POST /mcp', { access: 'assistant' }, async (exchange, caller) => {
    // Any other body is a post to a feed of that name.
    if (!isJson(exchange.header('content-type'))) throw reservedFeed();
    const body = await exchange.body(limit);
    const isLarge = body.length > LARGE_BYTES;
    const answer = async (): Promise<Answer> => {
      const message = isLarge ? await parts.parseLargeMessage(body) : parseMessage(body);
      if (message === undefined)
        return protocolError(-32700, 'The body is not JSON in UTF-8, or has too many values.');
      if (Array.isArray(message) && message.length > MAX_MESSAGES)
        return protocolError(-32600, `There may be at most ${MAX_MESSAGES} messages.`);
      const fault = faultOfIds([message].flat());
      if (fault !== undefined) return protocolError(-32600, fault);
      return (await loaded()).answer(exchange, message, caller);
    };
    return isLarge ? large(answer) : answer();
  });
}

/** What is wrong with the ids of messages, one sentence. */
function faultOfIds(messages: readonly unknown[]): string | undefined {
  const ids = messages.flatMap((one) => (one instanceof Object && 'id' in one ? [one.id] : []));
  if (ids.some((id) => typeof id === 'string' && id.length > MAX_ID_LENGTH))
    return `An id may have at most ${MAX_ID_LENGTH} characters.`;
  // The SDK would take the answer to the first for that of both, and the second would go on beyond all limits.
  return new Set(ids).size < ids.length ? 'Two requests have the same id.' : undefined;
}

/** Called at the first request, because the SDK takes time and much memory. */
async function load({ site, observeTool, ...parts }: OperationParts): Promise<Mcp> {
  const { Mcp } = await import('../assistants/mcp.ts');
  return new Mcp({ parts, observe: observeTool, title: site.title });
}

/** A JSON-RPC 2.0 error that answers no particular request. */
function protocolError(code: number, message: string): Answer {
  return json(400, { jsonrpc: '2.0', id: null, error: { code, message } });
}

/** Largest registration, bytes. */
const MAX_REGISTRATION_BYTES = 16 * 1024;
const PAGE = '/oauth/authorize';
const CONSENT = '/api/oauth/authorize';
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';
const GRANT_TYPES = ['authorization_code', 'refresh_token'];

type OAuthHandler = (exchange: Exchange, oauth: OAuth) => Answer | Promise<Answer>;

/** The MCP endpoint, and the OAuth 2.1 server of a locked instance; on an open one all of that is 404. */
export function assistantOperations(parts: OperationParts): DescribedOperation[] {
  const withOAuth = (handle: OAuthHandler) => async (exchange: Exchange) =>
    handle(exchange, await existing(parts.oauth, 'address')());
  const api = { access: 'public', cors: true } as const;
  const page = { access: 'public', isPage: true } as const;
  const resource = withOAuth(({ base }) => json(200, resourceMetadata(base, parts.site.title)));
  const server = withOAuth(({ base }) => json(200, serverMetadata(base)));
  const registration = withOAuth(withOAuthErrors('invalid_client_metadata', register));
  const token = withOAuth(withOAuthErrors('invalid_request', giveTokens));
  const question = withOAuth((...call) => authorize(...call, parts));
  const decision = withOAuth((...call) => consent(...call, parts));
  return [
    mcpOperation(parts),
    operation('resourceMetadata', `GET ${RESOURCE_METADATA}`, api, resource),
    operation('toolsMetadata', `GET ${RESOURCE_METADATA}/mcp`, api, resource),
    operation('authorizationMetadata', 'GET /.well-known/oauth-authorization-server', api, server),
    operation('registerClient', 'POST /oauth/register', api, registration),
    operation('authorizePage', `GET ${PAGE}`, page, question),
    operation('authorize', `POST ${CONSENT}`, page, decision),
    operation('token', 'POST /oauth/token', api, token),
  ];
}

/** RFC 9728 §2. */
function resourceMetadata(base: string, title: string): object {
  return {
    resource: resourceOf(base),
    authorization_servers: [base],
    bearer_methods_supported: ['header'],
    resource_name: title,
  };
}

/** RFC 8414 §2. */
function serverMetadata(base: string): object {
  return {
    issuer: base,
    authorization_endpoint: `${base}${PAGE}`,
    token_endpoint: `${base}/oauth/token`,
    registration_endpoint: `${base}/oauth/register`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    token_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };
}

async function register(exchange: Exchange, oauth: OAuth): Promise<Answer> {
  const { id, name, redirectUris } = await oauth.register(
    parseMessage(await exchange.body(MAX_REGISTRATION_BYTES)),
  );
  return json(201, {
    client_id: id,
    client_id_issued_at: Math.floor(Date.now() / 1000),
    ...(name !== '' && { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: GRANT_TYPES,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
}

async function giveTokens(exchange: Exchange, oauth: OAuth): Promise<Answer> {
  return json(200, await oauth.answerTokenRequest(await formBody(exchange), issuerOf(exchange)));
}

/** Shows the consent page. */
async function authorize(
  exchange: Exchange,
  oauth: OAuth,
  { site, access }: OperationParts,
): Promise<Answer> {
  const parameters = new URLSearchParams(exchange.queryText);
  const session = sessionOf(exchange, access);
  const { client, redirectUri } = await parseAuthorizationRequest(parameters, oauth, exchange.base);
  const page = authorizePage(withVisitor(site, session), {
    action: exchange.root + CONSENT,
    client: client.name,
    redirectUri,
    fields: fieldsIn(parameters),
    next: session === undefined ? `${PAGE}?${exchange.queryText}` : undefined,
    problem: problemIn(parameters),
  });
  return pageAnswer(page, { 'Content-Security-Policy': authorizePolicy(redirectUri) });
}

/** Takes the form of the consent page, and goes back to the client with a code or a denial (RFC 6749 §4.1.2). */
async function consent(exchange: Exchange, oauth: OAuth, { access }: OperationParts): Promise<Answer> {
  refuseAllButOwnPages(exchange);
  const form = await formBody(exchange);
  const issuer = issuerOf(exchange);
  const asking = await parseAuthorizationRequest(form, oauth, issuer.base);
  if (form.has('deny')) {
    const denial = { error: 'access_denied', error_description: 'The user has denied it.' };
    return redirect(redirectWith(asking, issuer, denial));
  }
  const session = sessionOf(exchange, access);
  if (session === undefined) {
    // An empty password is none, which is not counted.
    const bearer = form.get('password') || undefined;
    try {
      await access.requireInstance({ ...callerOf(exchange, undefined, () => false), bearer });
    } catch (cause) {
      if (cause instanceof Refusal) return backToPage(exchange, form, cause);
      throw cause;
    }
  }
  const { sender, email, provider = '' } = session ?? {};
  // Undefined if the instance password was entered instead of a sign-in.
  const person = email === undefined ? undefined : { sender, email, provider };
  const code = await oauth.createCode({ ...asking, person }, issuer);
  return redirect(redirectWith(asking, issuer, { code }));
}

/** Redirects to the consent page, which shows the problem. */
function backToPage(exchange: Exchange, form: URLSearchParams, refusal: Refusal): Answer {
  const { code, retryAfter } = refusal;
  const parameters = new URLSearchParams(Object.fromEntries(fieldsIn(form)));
  parameters.set('error', code);
  if (retryAfter !== undefined) parameters.set('retry', String(retryAfter));
  return { ...seeOther(exchange, `${PAGE}?${parameters}`), code };
}

function fieldsIn(parameters: URLSearchParams): (readonly [name: string, value: string])[] {
  return AUTHORIZATION_PARAMETERS.flatMap((name) => {
    const value = parameters.get(name);
    return value === null ? [] : [[name, value] as const];
  });
}

/** The query is untrusted, so the page shows only a number from it. */
function problemIn(parameters: URLSearchParams): string | undefined {
  const error = parameters.get('error');
  return error === null ? undefined : passwordProblem(error, parameters.get('retry') ?? undefined);
}

/**
 * The handler of an endpoint for programs, with errors as OAuth defines them.
 * @param code for refusals of the request
 */
function withOAuthErrors(code: OAuthErrorCode, handle: OAuthHandler): OAuthHandler {
  return async (exchange, oauth) => {
    try {
      return await handle(exchange, oauth);
    } catch (cause) {
      const answer = (status: number, error: OAuthErrorCode, fields?: Refusal['headers']) =>
        json(status, { error, error_description: (cause as Error).message }, fields);
      if (cause instanceof OAuthError)
        return cause.code === 'invalid_client'
          ? answer(401, cause.code, { 'WWW-Authenticate': 'Bearer' })
          : answer(400, cause.code);
      if (!(cause instanceof Refusal)) throw cause;
      return answer(cause.status, cause.status < 500 ? code : 'temporarily_unavailable', cause.headers);
    }
  };
}

/** Cookies always count, because only this instance shows the page and sends its form. */
function sessionOf(exchange: Exchange, { sessions }: OperationParts['access']): Session | undefined {
  return callerOf(exchange, sessions, () => true).session;
}

function issuerOf({ base }: Exchange): Issuer {
  return { base, now: Date.now() };
}
