import type { Access, Caller } from '../access/access.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, Operation } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import type { Site } from '../web/site.ts';
import type { Admitted, DescribedOperation } from './operation.ts';

/** The operation as the front end runs it: it lets in only who may, and renders refusals in its own way. */
export function admitting(operation: DescribedOperation, access: Access, site: Site): Operation {
  const { id, method, path, accepts, cors } = operation;
  return {
    id,
    method,
    path,
    ...(accepts && { accepts }),
    ...(cors && { cors }),
    ...(operation.access === 'page' && {
      refuse: (refusal: Refusal, exchange: Exchange) => errorPage(site, refusal, exchange),
    }),
    handle: handlerOf(operation, access),
  };
}

function handlerOf(operation: DescribedOperation, access: Access): Operation['handle'] {
  switch (operation.access) {
    case 'public':
      return (exchange) => operation.handle(exchange);
    case 'page':
      return (exchange) => (!access.isLocked ? operation.handle(exchange) : toLogin(exchange));
    case 'metrics':
      return (exchange) => {
        access.metrics(callerOf(exchange));
        return operation.handle(exchange);
      };
    case 'assistant':
      return async (exchange) => {
        refuseForeignOrigin(exchange);
        return operation.handle(exchange, await admittedAssistant(exchange, access));
      };
    case 'reader':
      return async (exchange) => {
        const admitted = admittedBy(exchange);
        const named = await access.reader(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'poster':
      return async (exchange) => {
        const admitted = admittedBy(exchange);
        refuseForeign(exchange);
        const named = await access.poster(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'writer':
      return async (exchange) => {
        const admitted = admittedBy(exchange);
        refuseForeign(exchange);
        const feed = await access.writer(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { feed, ...admitted });
      };
  }
}

/** A request whose Host gives no base for links is refused before anything is changed. */
function admittedBy(exchange: Exchange) {
  return { caller: callerOf(exchange), base: exchange.base };
}

/** Who sends a request. A header is read when it is asked for: one that is not UTF-8 must not be refused before that. */
export function callerOf(exchange: Exchange): Caller {
  return {
    client: exchange.client,
    get requestId() {
      return exchange.requestId;
    },
    // RFC 6750 §2.1; undefined for any other scheme.
    get bearer() {
      return /^bearer +(.+)$/i.exec(exchange.header('authorization') ?? '')?.[1];
    },
    get feedPassword() {
      return exchange.header('x-feed-password');
    },
    sender: undefined,
    get isAborted() {
      return exchange.isAborted;
    },
  };
}

/** Another site's page must not write to an instance in its visitor's network. */
function refuseForeign(exchange: Exchange): void {
  if (exchange.header('sec-fetch-site') === 'cross-site')
    throw new Refusal('foreign_form', 'A page of another site cannot write to this instance.');
}

/** The names of this machine, and addresses, which no other site can make its own (DNS rebinding). */
const OWN_HOST = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/;

/**
 * Only pages of this instance may call tools. Without PUBLIC_URL a page of another site could have the same name as the
 * instance: its own, which it has lead to an address of its visitor's network.
 */
function refuseForeignOrigin(exchange: Exchange): void {
  refuseForeign(exchange);
  const sent = exchange.header('origin', true);
  if (sent === undefined) return;
  const { origin, hostname } = new URL(exchange.base);
  if (sent !== origin || !(exchange.hasPublicUrl || OWN_HOST.test(hostname)))
    throw new Refusal('foreign_form', 'A page of another site cannot write to this instance.');
}

/** Whoever may call tools; who may not is told where to get a token (RFC 9728 §5.1). */
async function admittedAssistant(exchange: Exchange, access: Access): Promise<Admitted> {
  const { caller, base } = admittedBy(exchange);
  try {
    return { caller: await access.assistant(caller, base), base };
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.code !== 'auth') throw cause;
    const error = caller.bearer === undefined ? '' : 'error="invalid_token", ';
    const challenge = `Bearer ${error}resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    throw new Refusal('auth', cause.message, { headers: { 'WWW-Authenticate': challenge } });
  }
}

function toLogin({ path }: Exchange): Answer {
  return {
    status: 303,
    headers: headers({
      Location: `/login?next=${encodeURIComponent(path)}`,
      'Cache-Control': 'private, no-store',
    }),
  };
}
