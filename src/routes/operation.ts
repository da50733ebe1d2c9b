import type { Caller, NamedFeed } from '../access/access.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/router.ts';
import type { Feed } from '../storage/storage.ts';
import type { OperationDocs } from './operation-docs.ts';

type Answering = Answer | Promise<Answer>;

/** Who asks, let in. */
export interface Admitted {
  readonly caller: Caller;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/**
 * Who may, and what the handler is given once that has been checked:
 * - `public`: everybody
 * - `page`: everybody on an open instance; a locked one leads to the login page
 * - `reader`: whoever may read a feed by its name; it need not exist
 * - `writer`: whoever may change a feed by its name; it exists, and the request counts as a write
 * - `poster`: whoever may post to a name; the request counts as a write
 * - `assistant`: whoever may call tools, from no web page of another site
 * - `metrics`: whoever has the token for the metrics
 */
export type Admission =
  | { readonly access: 'public' | 'page' | 'metrics'; handle(exchange: Exchange): Answering }
  | { readonly access: 'assistant'; handle(exchange: Exchange, admitted: Admitted): Answering }
  | {
      readonly access: 'reader' | 'poster';
      handle(exchange: Exchange, named: NamedFeed & Admitted): Answering;
    }
  | {
      readonly access: 'writer';
      handle(exchange: Exchange, existing: { readonly feed: Feed } & Admitted): Answering;
    };

/** An entry of the one table of operations: path, who may, and what the API description says of it. */
export type DescribedOperation = Route &
  Admission & {
    /** Stable name, for logs, metrics and the API description. */
    readonly id: string;
    /** Readable by scripts of any web page (CORS). */
    readonly cors?: boolean;
    /** What the API description says of it; it leaves out what has none, such as pages. */
    readonly docs?: OperationDocs;
  };
