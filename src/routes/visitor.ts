import type { Access } from '../access/access.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { type Site, withVisitor } from '../web/site.ts';
import { callerOf } from './caller.ts';

/** The site with who is logged in, for pages that everybody may see. Pages under `/r/` never say it (contract §8). */
export function siteForVisitor(site: Site, access: Access, exchange: Exchange): Site {
  if (exchange.path.startsWith('/r/')) return site;
  try {
    return withVisitor(site, callerOf(exchange, access.sessions, () => true).session);
  } catch (cause) {
    // This may be the page that explains why these headers were refused.
    if (cause instanceof Refusal) return site;
    throw cause;
  }
}
