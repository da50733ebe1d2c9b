import { type Access, type Caller, existing } from '../access/access.ts';
import type { FeedName } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, Operation } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { formBody } from '../requests/form-body.ts';
import type { Feed } from '../storage/storage.ts';
import { unlockPage } from '../web/access-pages.ts';
import { errorPage } from '../web/error-page.ts';
import type { Site } from '../web/site.ts';
import { callerOf } from './caller.ts';
import { addressOf, loginPath } from './next-path.ts';
import type { Admission, Admitted, DescribedOperation } from './operation.ts';
import { isFromOwnPage, refuseAllButOwnPages, refuseForeignPages } from './own-page.ts';
import { seeOther } from './see-other.ts';

/** Those whose refusals are pages. */
const OF_PAGES: ReadonlySet<Admission['access']> = new Set([
  'page',
  'feed-page',
  'form',
  'name-form',
  'feed-form',
]);

/** The operation as the front end runs it: it lets in only who may, and renders refusals in its own way. */
export function admitting(operation: DescribedOperation, access: Access, site: Site): Operation {
  const { id, method, path, accepts, cors } = operation;
  return {
    id,
    method,
    path,
    ...(accepts && { accepts }),
    ...(cors && { cors }),
    ...((OF_PAGES.has(operation.access) || operation.isPage) && {
      refuse: (refusal: Refusal, exchange: Exchange) => errorPage(site, refusal, exchange),
    }),
    handle: handlerOf(operation, access, site),
  };
}

function handlerOf(operation: DescribedOperation, access: Access, site: Site): Operation['handle'] {
  switch (operation.access) {
    case 'public':
      return (exchange) => operation.handle(exchange);
    case 'metrics':
      return (exchange) => {
        access.requireMetricsToken(apiCaller(exchange, access));
        return operation.handle(exchange);
      };
    case 'operator':
      return async (exchange) => {
        const caller = apiCaller(exchange, access);
        await access.requireOperator(caller);
        return operation.handle(exchange, caller);
      };
    case 'assistant':
      return async (exchange) => {
        refuseForeignOrigin(exchange);
        return operation.handle(exchange, await admittedAssistant(exchange, access));
      };
    case 'reader':
      return async (exchange) => {
        const admitted = admittedBy(exchange, access, apiCaller);
        const named = await access.requireReader(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'previewer':
      return async (exchange) => {
        const admitted = admittedBy(exchange, access, apiCaller);
        refuseForeignPages(exchange);
        const named = await access.requireReader(admitted.caller, exchange.parameters[0]!);
        await access.previews.count(admitted.caller.client);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'poster':
      return async (exchange) => {
        const admitted = admittedBy(exchange, access, apiCaller);
        refuseForeignPages(exchange);
        const named = await access.requirePoster(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { ...named, ...admitted });
      };
    case 'writer':
      return async (exchange) => {
        const admitted = admittedBy(exchange, access, apiCaller);
        refuseForeignPages(exchange);
        const feed = await access.requireWriter(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { feed, ...admitted });
      };
    case 'page':
      return (exchange) => {
        if (!access.isLocked) return operation.handle(exchange);
        const caller = pageCaller(exchange, access);
        if (access.mustLogIn(caller)) return toLogin(exchange);
        return Promise.resolve(access.requireInstance(caller)).then(() => operation.handle(exchange));
      };
    case 'feed-page':
      return async (exchange) => {
        const admitted = admittedBy(exchange, access, pageCaller);
        if (access.mustLogIn(admitted.caller)) return toLogin(exchange);
        const name = await access.requireName(admitted.caller, exchange.parameters[0]!);
        const feed = await lookUp(access, admitted.caller, name);
        if (feed instanceof Refusal) return locked(site, exchange, name, feed);
        return operation.handle(exchange, { name, feed, ...admitted });
      };
    case 'form':
      return async (exchange) => {
        refuseAllButOwnPages(exchange);
        const admitted = admittedBy(exchange, access, pageCaller);
        return operation.handle(exchange, { form: await formBody(exchange), ...admitted });
      };
    case 'name-form':
      return async (exchange) => {
        refuseAllButOwnPages(exchange);
        const admitted = admittedBy(exchange, access, pageCaller);
        if (access.mustLogIn(admitted.caller)) return toLogin(exchange);
        const name = await access.requireName(admitted.caller, exchange.parameters[0]!);
        return operation.handle(exchange, { name, form: await formBody(exchange), ...admitted });
      };
    case 'feed-form':
      return (exchange) => handleFeedForm(operation, access, site, exchange);
  }
}

type FeedFormOperation = Extract<DescribedOperation, { access: 'feed-form' }>;

async function handleFeedForm(
  operation: FeedFormOperation,
  access: Access,
  site: Site,
  exchange: Exchange,
): Promise<Answer> {
  refuseAllButOwnPages(exchange);
  const admitted = admittedBy(exchange, access, pageCaller);
  const { caller } = admitted;
  if (access.mustLogIn(caller)) return toLogin(exchange);
  const name = await access.requireName(caller, exchange.parameters[0]!);
  const known = await lookUp(access, caller, name);
  if (known instanceof Refusal) return locked(site, exchange, name, known);
  // The page is shown again with what was typed, so the form is read even where the client is over the limit.
  const overLimit = await refusalOf(async () => access.writes.count(caller.client));
  if (known === undefined && overLimit !== undefined) throw overLimit;
  const feed = existing(known);
  const form = await formBody(exchange).catch((cause) => {
    throw overLimit ?? cause;
  });
  const admittedForm = { feed, form, ...admitted };
  if (overLimit !== undefined) return operation.explain(exchange, admittedForm, overLimit);
  try {
    return await operation.handle(exchange, admittedForm);
  } catch (cause) {
    if (cause instanceof Refusal) return operation.explain(exchange, admittedForm, cause);
    throw cause;
  }
}

/** A request whose Host gives no base for links is refused before anything is changed. */
function admittedBy(exchange: Exchange, access: Access, callerBy: typeof apiCaller): Admitted {
  return { caller: callerBy(exchange, access), base: exchange.base };
}

/** Cookies count for what our own pages ask for: any page could make a browser send them. */
function apiCaller(exchange: Exchange, { sessions }: Access): Caller {
  return callerOf(exchange, { sessions, takesCookies: isFromOwnPage });
}

/** Cookies count wherever the link to a page was; a form is refused before that if it is not ours. */
function pageCaller(exchange: Exchange, { sessions }: Access): Caller {
  return callerOf(exchange, { sessions, takesCookies: () => true });
}

/** The names of this machine, and addresses, which no other site can make its own (DNS rebinding). */
const OWN_HOST = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/;

/**
 * Only pages of this instance may call tools. Without PUBLIC_URL a page of another site could have the same name as the
 * instance: its own, which it has lead to an address of its visitor's network.
 */
function refuseForeignOrigin(exchange: Exchange): void {
  refuseForeignPages(exchange);
  const sent = exchange.header('origin', true);
  if (sent === undefined) return;
  const { origin, hostname } = new URL(exchange.base);
  if (sent !== origin || !(exchange.hasPublicUrl || OWN_HOST.test(hostname)))
    throw new Refusal('foreign_form', 'A page of another site cannot write to this instance.');
}

/** Whoever may call tools; who may not is told where to get a token (RFC 9728 §5.1). */
async function admittedAssistant(exchange: Exchange, access: Access): Promise<Admitted> {
  const { caller, base } = admittedBy(exchange, access, apiCaller);
  try {
    return { caller: await access.requireAssistant(caller, base), base };
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.code !== 'auth') throw cause;
    const error = caller.bearer === undefined ? '' : 'error="invalid_token", ';
    const challenge = `Bearer ${error}resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    throw new Refusal('auth', cause.message, { headers: { 'WWW-Authenticate': challenge } });
  }
}

/** The feed of that name; a refusal where the caller must unlock it first. */
async function lookUp(access: Access, caller: Caller, name: FeedName): Promise<Feed | undefined | Refusal> {
  try {
    return await access.namedFeed(caller, name);
  } catch (cause) {
    if (cause instanceof Refusal && cause.code === 'auth') return cause;
    throw cause;
  }
}

async function refusalOf(work: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (cause) {
    if (cause instanceof Refusal) return cause;
    throw cause;
  }
}

/** The unlock form in the place of a locked feed's page; a form that was sent is not sent again. */
function locked(site: Site, exchange: Exchange, name: FeedName, refusal: Refusal): Answer {
  const back = exchange.method === 'POST' ? `/${name}` : addressOf(exchange);
  return errorPage(site, refusal, exchange, unlockPage(site, { name, back }));
}

/** Where somebody without a session is led; a form that was sent is not sent again. */
function toLogin(exchange: Exchange): Answer {
  const next = exchange.method === 'POST' ? exchange.path.replace(/\/[^/]+\/?$/, '') : addressOf(exchange);
  return seeOther(exchange, loginPath(next));
}
