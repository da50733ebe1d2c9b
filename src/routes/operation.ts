import type { Caller, NamedFeed } from '../access/access.ts';
import type { FeedName } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/router.ts';
import type { Refusal } from '../refusals.ts';
import type { Feed } from '../storage/storage.ts';
import type { OperationDocs } from './operation-docs.ts';

type Answering = Answer | Promise<Answer>;

/** Who asks, let in. */
export interface Admitted {
  readonly caller: Caller;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** A form that a page of this instance has sent. */
export interface AdmittedForm extends Admitted {
  readonly form: URLSearchParams;
}

/** A form by which whoever may do so changes a feed. */
export interface FeedForm extends AdmittedForm {
  readonly feed: Feed;
}

/**
 * Who may, and what the handler is given once that has been checked:
 * - `public`: everybody
 * - `page`: everybody on an open instance; a locked one leads to the login page
 * - `feed-page`: whoever may see the pages of a feed by its name, which need not exist; others are led to the login page,
 *   or shown the unlock form
 * - `form`: everybody who sends a form from a page of this instance
 * - `name-form`: of these, whoever may use a feed's name; the feed's password is not checked
 * - `feed-form`: of these, whoever may change the feed, as `writer`; what is refused from then on, `explain` shows
 * - `reader`: whoever may read a feed by its name; it need not exist
 * - `writer`: whoever may change a feed by its name; it exists, and the request counts as a write
 * - `previewer`: as `reader`, for what is not stored but costs something; it counts toward a limit of its own
 * - `poster`: whoever may post to a name; the request counts as a write
 * - `assistant`: whoever may call tools, from no web page of another site
 * - `metrics`: whoever has the token for the metrics
 * - `operator`: whoever has the token of the operator
 */
export type Admission =
  | { readonly access: 'public' | 'page' | 'metrics'; handle(exchange: Exchange): Answering }
  | { readonly access: 'operator'; handle(exchange: Exchange, caller: Caller): Answering }
  | { readonly access: 'assistant'; handle(exchange: Exchange, admitted: Admitted): Answering }
  | {
      readonly access: 'reader' | 'previewer' | 'poster' | 'feed-page';
      handle(exchange: Exchange, named: NamedFeed & Admitted): Answering;
    }
  | {
      readonly access: 'writer';
      handle(exchange: Exchange, existing: { readonly feed: Feed } & Admitted): Answering;
    }
  | { readonly access: 'form'; handle(exchange: Exchange, form: AdmittedForm): Answering }
  | {
      readonly access: 'name-form';
      handle(exchange: Exchange, form: { readonly name: FeedName } & AdmittedForm): Answering;
    }
  | {
      readonly access: 'feed-form';
      handle(exchange: Exchange, form: FeedForm): Answering;
      /** The page that the form is on, with what was typed, and why it was refused. */
      explain(exchange: Exchange, form: FeedForm, refusal: Refusal): Answering;
    };

/** An entry of the one table of operations: path, who may, and what the API description says of it. */
export type DescribedOperation = Route &
  Admission & {
    /** Stable name, for logs, metrics and the API description. */
    readonly id: string;
    /** Refusals are pages for a client that asks for HTML, as those of `page` always are. */
    readonly isPage?: boolean;
    /** Readable by scripts of any web page (CORS). */
    readonly cors?: boolean;
    /** What the API description says of it; it leaves out what has none, such as pages. */
    readonly docs?: OperationDocs;
  };
