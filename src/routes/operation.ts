import type { Caller, NamedFeed } from '../access/access.ts';
import { type FeedName, ROUTE_NAMES } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Method, Route } from '../http/router.ts';
import type { Refusal } from '../refusals.ts';
import type { Feed } from '../storage/storage.ts';
import type { OperationDocs } from './operation-docs.ts';

type Answering = Answer | Promise<Answer>;

/** A caller that was let in. */
export interface Admitted {
  readonly caller: Caller;
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** A form that a page of this instance sent. */
export interface AdmittedForm extends Admitted {
  readonly form: URLSearchParams;
}

/** A form about a feed name, whose password is not checked yet. */
export type NameForm = AdmittedForm & { readonly name: FeedName };

/** A form that changes a feed, from a caller who may change it. */
export type FeedForm = AdmittedForm & { readonly feed: Feed };

type NamedHandler = (exchange: Exchange, named: NamedFeed & Admitted) => Answering;

/**
 * Who may call an operation, and what its handler gets after that check:
 * - `public`: everybody
 * - `page`: everybody on an open instance; a locked one redirects to the login page
 * - `feed-page`: readers of the feed of a name, which need not exist; others get the login page or the unlock form
 * - `form`: every form from a page of this instance
 * - `name-form`: a `form` by who may use the feed name; the feed's password is not checked
 * - `feed-form`: a `form` by a `writer`; `explain` shows refusals
 * - `reader`: readers of a feed by its name, which need not exist
 * - `previewer`: a `reader` whose request stores nothing but counts toward a rate limit of its own
 * - `writer`: who may change a feed by its name, which exists; counts as a write
 * - `poster`: who may post to a name; counts as a write
 * - `assistant`: who may call tools, from no other site's page
 * - `metrics`: who has the token for the metrics
 * - `operator`: who has the operator's token
 */
export type Admission =
  | { readonly access: 'public' | 'page' | 'metrics'; handle(exchange: Exchange): Answering }
  | { readonly access: 'operator'; handle(exchange: Exchange, caller: Caller): Answering }
  | { readonly access: 'assistant'; handle(exchange: Exchange, admitted: Admitted): Answering }
  | { readonly access: 'reader' | 'previewer' | 'poster'; handle: NamedHandler }
  | { readonly access: 'feed-page'; handle: NamedHandler }
  | { readonly access: 'writer'; handle(exchange: Exchange, writer: { feed: Feed } & Admitted): Answering }
  | { readonly access: 'form'; handle(exchange: Exchange, form: AdmittedForm): Answering }
  | { readonly access: 'name-form'; handle(exchange: Exchange, form: NameForm): Answering }
  | {
      readonly access: 'feed-form';
      handle(exchange: Exchange, form: FeedForm): Answering;
      /** The form's page again, with the entered values and the reason for the refusal. */
      explain(exchange: Exchange, form: FeedForm, refusal: Refusal): Answering;
    };

/** One entry of the table of operations. */
export type OperationDefinition = Pick<Route, 'accepts'> &
  Admission & {
    /** Stable name, for logs, metrics and the API description. */
    readonly id: string;
    readonly route: `${Method} /${string}`;
    /** Refusals are pages for a client that asks for HTML, as those of `page` always are. */
    readonly isPage?: boolean;
    /** Readable by scripts of any web page (CORS). */
    readonly cors?: boolean;
    /** For the API description, which leaves out operations without it, such as pages. */
    readonly docs?: OperationDocs;
  };

/** A definition with its route taken apart. */
export type DescribedOperation = OperationDefinition & Route;

/** For routes that begin with a feed name: the service's own addresses are no feeds. */
export const isFeedPath: NonNullable<Route['accepts']> = ([feed = '']) => !ROUTE_NAMES.has(feed);
