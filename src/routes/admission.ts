import type { Access, Caller } from '../access/access.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, Operation } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import type { Site } from '../web/site.ts';
import type { DescribedOperation } from './operation.ts';

/** The operation as the front end runs it: it lets in only who may, and renders refusals in its own way. */
export function admitting(operation: DescribedOperation, access: Access, site: Site): Operation {
  const { id, method, path, accepts, cors } = operation;
  return {
    id,
    method,
    path,
    ...(accepts && { accepts }),
    ...(cors && { cors }),
    ...((operation.access === 'page' || operation.isPage) && {
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
    case 'reader':
      return async (exchange) => {
        const admitted = admittedBy(exchange);
        const named = await access.reader(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'previewer':
      return async (exchange) => {
        const admitted = admittedBy(exchange);
        refuseForeign(exchange);
        const named = await access.reader(admitted.caller, exchange.parameters[0]!);
        access.preview(admitted.caller);
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

function toLogin({ path }: Exchange): Answer {
  return {
    status: 303,
    headers: headers({
      Location: `/login?next=${encodeURIComponent(path)}`,
      'Cache-Control': 'private, no-store',
    }),
  };
}
