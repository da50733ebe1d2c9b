import type { Access, Caller, NamedFeed } from '../access/access.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, Operation } from '../http/exchange.ts';
import { existing, onRefusal, Refusal } from '../refusals.ts';
import { formBody } from '../requests/bodies.ts';
import { unlockPage } from '../web/access-pages.ts';
import { errorPage } from '../web/error-page.ts';
import { type Site, withVisitor } from '../web/site.ts';
import { callerOf, foreignPage, isFromOwnPage, refuseAllButOwnPages, refuseForeignPages } from './caller.ts';
import type { AccessKind, Admitted, DescribedOperation, OperationOf } from './operation.ts';
import { loginPath, nextPath, seeOther } from './redirects.ts';
import { refuseUnknownHeaders } from './unknown-headers.ts';
import { siteForVisitor } from './visitor.ts';

const PAGE_KINDS: ReadonlySet<AccessKind> = new Set(['page', 'feed-page', 'form', 'name-form', 'feed-form']);

/** The operation as the front end runs it: it checks the caller first, and renders refusals in its own way. */
export function withAdmission(operation: DescribedOperation, access: Access, site: Site): Operation {
  const isPage = PAGE_KINDS.has(operation.access) || operation.isPage;
  return {
    // Its other members mean nothing to the front end.
    ...operation,
    ...(isPage && {
      refuse: (refusal: Refusal, exchange: Exchange) =>
        errorPage(siteForVisitor(site, access, exchange), refusal, exchange),
    }),
    handle: handlerOf(operation, access, site),
  };
}

function handlerOf(operation: DescribedOperation, access: Access, site: Site): Operation['handle'] {
  switch (operation.access) {
    case 'public':
      return operation.handle;
    case 'metrics':
      return async (exchange) => {
        await access.requireMetricsToken(apiCaller(exchange, access));
        return operation.handle(exchange);
      };
    case 'operator':
      return async (exchange) => {
        const caller = apiCaller(exchange, access);
        await access.requireOperator(caller);
        return operation.handle(exchange, caller);
      };
    case 'assistant':
      return async (exchange) => operation.handle(exchange, await admitAssistant(exchange, access));
    case 'reader':
    case 'previewer':
    case 'poster':
    case 'writer':
      return (exchange) => handleByName(operation, exchange, access);
    case 'page':
      return (exchange) => {
        if (!access.isLocked) return operation.handle(exchange);
        const caller = pageCaller(exchange, access);
        if (access.mustLogIn(caller)) return toLogin(exchange);
        return Promise.resolve(access.requireInstance(caller)).then(() => operation.handle(exchange));
      };
    default:
      return (exchange) => handleInBrowser(operation, exchange, access, site);
  }
}

/** API requests about a feed by its name. */
async function handleByName(
  operation: OperationOf<'reader' | 'previewer' | 'poster' | 'writer'>,
  exchange: Exchange,
  access: Access,
): Promise<Answer> {
  const admitted = { caller: apiCaller(exchange, access, operation.takesBasic), base: exchange.base };
  const { caller } = admitted;
  if (operation.access !== 'reader') refuseForeignPages(exchange);
  const name = exchange.parameters[0]!;
  if (operation.access === 'writer') {
    const feed = await access.requireWriter(caller, name);
    refuseUnknownHeaders(exchange);
    return access.change(caller, feed, () => operation.handle(exchange, { feed, ...admitted }));
  }
  if (operation.access === 'poster') {
    const named = await access.requirePoster(caller, name);
    refuseUnknownHeaders(exchange);
    return access.change(caller, named.feed, () => operation.handle(exchange, { ...named, ...admitted }));
  }
  const named = await access.requireReader(caller, name);
  if (operation.access === 'previewer') await access.previews.count(caller.client);
  return operation.handle(exchange, { ...named, ...admitted });
}

/** Forms, and pages of feeds. */
async function handleInBrowser(
  operation: OperationOf<'form' | 'name-form' | 'feed-form' | 'feed-page'>,
  exchange: Exchange,
  access: Access,
  site: Site,
): Promise<Answer> {
  if (operation.access !== 'feed-page') refuseAllButOwnPages(exchange);
  const admitted = { caller: pageCaller(exchange, access), base: exchange.base };
  const { caller } = admitted;
  if (operation.access === 'form')
    return operation.handle(exchange, { form: await formBody(exchange), ...admitted });
  if (access.mustLogIn(caller)) return toLogin(exchange);
  const name = await access.requireName(caller, exchange.parameters[0]!);
  if (operation.access === 'name-form')
    return operation.handle(exchange, { name, form: await formBody(exchange), ...admitted });
  const feed = await onRefusal(
    () => access.namedFeed(caller, name),
    (refusal) => {
      if (refusal.code !== 'auth') throw refusal;
      return refusal;
    },
  );
  if (feed instanceof Refusal) {
    const back = exchange.method === 'POST' ? `/${name}` : pathAndQuery(exchange);
    const shown = withVisitor(site, caller.session);
    return errorPage(shown, feed, exchange, unlockPage(shown, name, back));
  }
  if (operation.access === 'feed-page') return operation.handle(exchange, { name, feed, ...admitted });
  return handleFeedForm(operation, exchange, access, { name, feed, ...admitted });
}

async function handleFeedForm(
  operation: OperationOf<'feed-form'>,
  exchange: Exchange,
  access: Access,
  { name, feed: known, ...admitted }: NamedFeed & Admitted,
): Promise<Answer> {
  // The page comes again with the entered values, so the form is read even if the client is over the limit.
  const overLimit = await onRefusal(
    () => access.writes.count(admitted.caller.client),
    (refusal) => refusal,
  );
  if (known === undefined && overLimit) throw overLimit;
  if (known === undefined && operation.absent)
    return operation.absent(exchange, { name, form: await formBody(exchange), ...admitted });
  const feed = existing(known, 'feed');
  const form = await formBody(exchange).catch((cause) => {
    throw overLimit ?? cause;
  });
  const feedForm = { feed, form, ...admitted };
  const explain = (refusal: Refusal) => operation.explain(exchange, feedForm, refusal);
  if (overLimit) return explain(overLimit);
  const handle = () => operation.handle(exchange, feedForm);
  return onRefusal(() => access.change(admitted.caller, feed, handle), explain);
}

/** Cookies count only in requests of our own pages, because any page can make a browser send them. */
function apiCaller(exchange: Exchange, { sessions }: Access, takesBasic?: boolean): Caller {
  return callerOf(exchange, sessions, isFromOwnPage, takesBasic);
}

/** Cookies always count: a link to a page may be anywhere, and forms of other sites are refused first. */
function pageCaller(exchange: Exchange, { sessions }: Access): Caller {
  return callerOf(exchange, sessions, () => true);
}

/** Hosts that no other site can have. */
const OWN_HOST = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/;

/**
 * Only this instance's pages may call tools. Without PUBLIC_URL the check of the host alone is open to DNS rebinding, so
 * only localhost and IP addresses are accepted.
 */
function refuseForeignOrigin(exchange: Exchange): void {
  refuseForeignPages(exchange);
  const sent = exchange.header('origin', true);
  if (sent === undefined) return;
  const { origin, hostname } = new URL(exchange.base);
  if (sent !== origin || !(exchange.hasPublicUrl || OWN_HOST.test(hostname))) throw foreignPage(exchange);
}

/** The refusal of a token says where to get one (RFC 9728 §5.1). */
async function admitAssistant(exchange: Exchange, access: Access): Promise<Admitted> {
  refuseForeignOrigin(exchange);
  // A session does not count: what is posted with it here would not name its sender.
  const caller = callerOf(exchange, undefined, () => false);
  const { base } = exchange;
  const explain = (refusal: Refusal) => {
    if (refusal.code !== 'auth') throw refusal;
    const error = caller.bearer === undefined ? '' : 'error="invalid_token", ';
    const challenge = `Bearer ${error}resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    throw new Refusal('auth', refusal.message, { headers: { 'WWW-Authenticate': challenge } });
  };
  return { caller: await onRefusal(() => access.requireAssistant(caller, base), explain), base };
}

/** A form is not sent again after the login. */
function toLogin(exchange: Exchange): Answer {
  const next = exchange.method === 'POST' ? exchange.path.replace(/\/[^/]+\/?$/, '') : pathAndQuery(exchange);
  return seeOther(exchange, loginPath(next));
}

function pathAndQuery({ path, queryText }: Exchange): string {
  return nextPath(queryText === '' ? path : `${path}?${queryText}`);
}
