import type { Access } from '../access/access.ts';
import type { Person, Session } from '../access/sessions.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import {
  AUTHORIZATION_PARAMETERS,
  type AuthorizationRequest,
  type Issuer,
  parseAuthorizationRequest,
  parseChallenge,
  redirectWith,
  resourceOf,
} from '../oauth/authorization.ts';
import type { OAuth } from '../oauth/oauth.ts';
import { OAuthError, type OAuthErrorCode } from '../oauth/oauth-error.ts';
import { Refusal } from '../refusals.ts';
import { formBody } from '../requests/form-body.ts';
import { parseMessage } from '../requests/json-message.ts';
import { authorizePage, authorizePageFields } from '../web/authorize-page.ts';
import { errorPage } from '../web/error-page.ts';
import type { Site } from '../web/site.ts';
import { callerOf } from './caller.ts';
import type { DescribedOperation } from './operation.ts';
import { refuseAllButOwnPages } from './own-page.ts';

export interface OAuthOperationParts {
  readonly access: Pick<Access, 'requireInstance' | 'sessions'>;
  readonly site: Site;
  /** The OAuth server of a locked instance; undefined on an open one. */
  readonly oauth: (() => Promise<OAuth>) | undefined;
}

/** Largest registration, bytes. */
const MAX_BYTES = 16 * 1024;
const PAGE = '/oauth/authorize';
const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** How assistants are let into a locked instance (OAuth 2.1). */
export function oauthOperations(parts: OAuthOperationParts): DescribedOperation[] {
  const metadata = '/.well-known/oauth-protected-resource';
  return [
    ...[metadata, `${metadata}/mcp`].map((path, i) =>
      ofLocked(parts, {
        id: i === 0 ? 'resourceMetadata' : 'toolsMetadata',
        method: 'GET',
        path,
        cors: true,
        handle: async ({ base }) => json(200, resourceMetadata(base, parts.site)),
      }),
    ),
    ofLocked(parts, {
      id: 'authorizationMetadata',
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      cors: true,
      handle: async ({ base }) => json(200, serverMetadata(base)),
    }),
    ofLocked(parts, {
      id: 'registerClient',
      method: 'POST',
      path: '/oauth/register',
      cors: true,
      handle: (exchange, oauth) => told(() => register(exchange, oauth), 'invalid_client_metadata'),
    }),
    ofLocked(parts, {
      id: 'authorizePage',
      method: 'GET',
      path: PAGE,
      page: true,
      handle: (exchange, oauth) => authorize(exchange, oauth, parts),
    }),
    ofLocked(parts, {
      id: 'authorize',
      method: 'POST',
      path: '/api/oauth/authorize',
      page: true,
      handle: (exchange, oauth) => consent(exchange, oauth, parts),
    }),
    ofLocked(parts, {
      id: 'token',
      method: 'POST',
      path: '/oauth/token',
      cors: true,
      handle: (exchange, oauth) => told(() => tokens(exchange, oauth), 'invalid_request'),
    }),
  ];
}

interface OAuthOperation {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly cors?: boolean;
  /** For people: so are its errors. */
  readonly page?: boolean;
  handle(exchange: Exchange, oauth: OAuth): Promise<Answer>;
}

/** Nothing is there where nobody has to be let in. */
function ofLocked({ oauth, site }: OAuthOperationParts, operation: OAuthOperation): DescribedOperation {
  const { page = false, handle, ...rest } = operation;
  return {
    ...rest,
    access: 'public',
    async handle(exchange) {
      try {
        if (oauth === undefined) throw new Refusal('not_found', 'There is nothing at this address.');
        return await handle(exchange, await oauth());
      } catch (cause) {
        if (page && cause instanceof Refusal) return errorPage(site, cause, exchange);
        throw cause;
      }
    },
  };
}

/** Where tokens for the tools can be had (RFC 9728 §2). */
function resourceMetadata(base: string, { title }: Site): object {
  return {
    resource: resourceOf(base),
    authorization_servers: [base],
    bearer_methods_supported: ['header'],
    resource_name: title,
  };
}

/** How tokens can be had (RFC 8414 §2). */
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

async function register(exchange: Exchange, { clients }: OAuth): Promise<Answer> {
  const { id, name, redirectUris } = await clients.register(parseMessage(await exchange.body(MAX_BYTES)));
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

async function tokens(exchange: Exchange, oauth: OAuth): Promise<Answer> {
  return json(200, await oauth.answerTokenRequest(await formBody(exchange), issuerOf(exchange)));
}

/** The page that asks, or an answer to the client where it asked wrongly. */
async function authorize(
  exchange: Exchange,
  { clients }: OAuth,
  { site, access }: OAuthOperationParts,
): Promise<Answer> {
  const parameters = new URLSearchParams(exchange.queryText);
  const asking = await parseAuthorizationRequest(parameters, clients);
  const issuer = issuerOf(exchange);
  return answered(asking, issuer, async () => {
    parseChallenge(parameters, issuer.base);
    const body = authorizePage({
      site,
      action: `${rootOf(issuer)}/api/oauth/authorize`,
      client: asking.client.name,
      redirectUri: asking.redirectUri,
      fields: fieldsIn(parameters),
      next: sessionOf(exchange, access) === undefined ? `${PAGE}?${exchange.queryText}` : undefined,
      problem: problemIn(parameters),
    });
    return { status: 200, headers: headers(authorizePageFields(asking.redirectUri)), body };
  });
}

/** What somebody said to the page. */
async function consent(
  exchange: Exchange,
  { clients, grants }: OAuth,
  { access }: OAuthOperationParts,
): Promise<Answer> {
  refuseAllButOwnPages(exchange);
  const form = await formBody(exchange);
  const asking = await parseAuthorizationRequest(form, clients);
  const issuer = issuerOf(exchange);
  return answered(asking, issuer, async () => {
    const challenge = parseChallenge(form, issuer.base);
    if (form.has('deny')) throw new OAuthError('access_denied', 'The user has denied it.');
    const session = sessionOf(exchange, access);
    if (session === undefined) {
      // An empty password is none, which is not counted.
      const bearer = form.get('password') || undefined;
      try {
        const caller = callerOf(exchange, { sessions: undefined, takesCookies: () => false });
        await access.requireInstance({ ...caller, bearer });
      } catch (cause) {
        if (cause instanceof Refusal) return askedAgain(form, issuer, cause);
        throw cause;
      }
    }
    const { client, redirectUri } = asking;
    const code = await grants.createCode(
      { client, redirectUri, challenge, person: personOf(session) },
      issuer,
    );
    return seeOther(redirectWith(asking, issuer, { code }));
  });
}

/** Who has signed in; undefined where the password was given. */
function personOf(session: Session | undefined): Person | undefined {
  return session?.email === undefined ? undefined : { sender: session.sender, email: session.email };
}

/** Tells the client of errors that are its own (RFC 6749 §4.1.2.1). */
async function answered(
  asking: AuthorizationRequest,
  issuer: Issuer,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer();
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause;
    return seeOther(redirectWith(asking, issuer, { error: cause.code, error_description: cause.message }));
  }
}

/** Back to the page, which says why. */
function askedAgain(form: URLSearchParams, issuer: Issuer, refusal: Refusal): Answer {
  const { code, headers: fields } = refusal;
  const parameters = new URLSearchParams(Object.fromEntries(fieldsIn(form)));
  parameters.set('error', code);
  if (fields['Retry-After'] !== undefined) parameters.set('retry', fields['Retry-After']);
  return { ...seeOther(`${rootOf(issuer)}${PAGE}?${parameters}`), code };
}

function fieldsIn(parameters: URLSearchParams): (readonly [name: string, value: string])[] {
  return AUTHORIZATION_PARAMETERS.flatMap((name) => {
    const value = parameters.get(name);
    return value === null ? [] : [[name, value] as const];
  });
}

/** Anybody can put anything into the address, so nothing of it is repeated but a number. */
function problemIn(parameters: URLSearchParams): string | undefined {
  const error = parameters.get('error');
  if (error === null) return undefined;
  if (error === 'auth') return 'That is not the password of this instance.';
  if (error !== 'too_many_attempts') return 'That did not work. Please try again.';
  const [seconds = '60'] = /^\d{1,5}$/.exec(parameters.get('retry') ?? '') ?? [];
  return `Too many wrong passwords: please wait ${seconds} ${seconds === '1' ? 'second' : 'seconds'}.`;
}

/** The answer of an endpoint for programs, its errors in the words of OAuth. */
async function told(answer: () => Promise<Answer>, code: OAuthErrorCode): Promise<Answer> {
  try {
    return await answer();
  } catch (cause) {
    if (cause instanceof OAuthError)
      return cause.code === 'invalid_client'
        ? errorAnswer(401, cause, { 'WWW-Authenticate': 'Bearer' })
        : errorAnswer(400, cause);
    if (!(cause instanceof Refusal) || cause.status < 400) throw cause;
    const error = cause.status < 500 ? code : 'temporarily_unavailable';
    return errorAnswer(cause.status, { code: error, message: cause.message }, cause.headers);
  }
}

function errorAnswer(
  status: number,
  { code, message }: Pick<OAuthError, 'code' | 'message'>,
  fields: Readonly<Record<string, string>> = {},
): Answer {
  return json(status, { error: code, error_description: message }, fields);
}

/** Who has logged in; both pages are shown, and forms taken, by this instance alone. */
function sessionOf(exchange: Exchange, { sessions }: Pick<Access, 'sessions'>): Session | undefined {
  return callerOf(exchange, { sessions, takesCookies: () => true }).session;
}

function issuerOf({ base }: Exchange): Issuer {
  return { base, now: Date.now() };
}

/** The path of the instance, without a slash at the end. */
function rootOf({ base }: Issuer): string {
  return new URL(base).pathname.replace(/\/$/, '');
}

function seeOther(location: string): Answer {
  return { status: 303, headers: headers({ Location: location, 'Cache-Control': 'private, no-store' }) };
}
