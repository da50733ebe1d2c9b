import type { Access, Caller, NamedFeed } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { type FeedName, ROUTE_NAMES } from '../feeds/names.ts';
import type { ReadHook } from '../hooks/read-hook.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, Operation } from '../http/exchange.ts';
import type { ImageOperator } from '../images/image-operator.ts';
import type { Blocks } from '../ingest/blocks.ts';
import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Importing } from '../ingest/importing.ts';
import type { Licensing } from '../ingest/licensing.ts';
import type { OperatedFeeds } from '../ingest/operated-feeds.ts';
import type { Posting } from '../ingest/post.ts';
import type { Reports } from '../ingest/reports.ts';
import type { Takedown } from '../ingest/takedown.ts';
import type { FeedEvents } from '../live/feed-events.ts';
import type { OAuth } from '../oauth/oauth.ts';
import type { ExportedStorage } from '../read/feed-export.ts';
import type { LegalTexts } from '../read/legal-texts.ts';
import type { Reader } from '../read/reader.ts';
import type { Refusal } from '../refusals.ts';
import type { Json } from '../schemas.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { RecordAudit, ToolOutcome } from '../telemetry/events.ts';
import type { Assets } from '../web/assets.ts';
import type { Site } from '../web/site.ts';
import type { FeedLimits } from '../writing/limits.ts';
import type { OperationDocs } from './operation-docs.ts';

interface MetricsSource {
  readonly contentType: string;
  metricsAnswer(): Promise<string>;
}

/** The parts of the service that operations call. */
export interface OperationParts {
  readonly posting: Posting;
  readonly readHook: ReadHook;
  /** As `parseMessage`, on a thread. Throws a Refusal `busy`. */
  readonly parseLargeMessage: (body: Uint8Array) => Promise<unknown>;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Reader;
  readonly storage: ExportedStorage;
  readonly importing: Importing;
  /** For bodies that are too large for the memory. */
  readonly temporaryFolder: string;
  readonly limits: FeedLimits;
  /** Undefined if feeds need no license. */
  readonly licensing: Licensing | undefined;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
  readonly events: FeedEvents;
  readonly site: Site;
  readonly legalTexts: LegalTexts;
  readonly assets: Assets;
  readonly access: Access;
  readonly signIn: SignIn | undefined;
  readonly images: ImageOperator;
  readonly operatedFeeds: OperatedFeeds;
  readonly blocks: Blocks;
  readonly takedown: Takedown;
  readonly reports: Reports;
  readonly audit: RecordAudit;
  /** Where notes, and the bytes of pictures, are kept. */
  readonly places: Pick<Json<'Stats'>, 'storage' | 'images'>;
  readonly publicUrl: string | undefined;
  /** Loads the OAuth server of a locked instance; undefined on an open one. */
  readonly oauth: (() => Promise<OAuth>) | undefined;
  readonly observeTool: (outcome: ToolOutcome) => void;
  /** Undefined if metrics are off. */
  readonly metrics: MetricsSource | undefined;
  /** The reason, in a word or two, why the service cannot take requests now; undefined if it can. */
  readiness(): Promise<string | undefined>;
}

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

type Handler<More extends readonly unknown[] = []> = (
  exchange: Exchange,
  ...more: More
) => Answer | Promise<Answer>;

/** Who may call an operation, and what its handler gets after that check. */
interface Handlers {
  /** Everybody. */
  public: Handler;
  /** Everybody on an open instance; a locked one redirects to the login page. */
  page: Handler;
  /** Readers of the feed of a name, which need not exist; others get the login page or the unlock form. */
  'feed-page': Handler<[NamedFeed & Admitted]>;
  /** Every form from a page of this instance. */
  form: Handler<[AdmittedForm]>;
  /** A `form` by who may use a feed name; the feed's password is not checked. */
  'name-form': Handler<[NameForm]>;
  /** A `form` by a `writer`; `explain` shows refusals. */
  'feed-form': Handler<[FeedForm]>;
  /** Readers of a feed by its name, which need not exist. */
  reader: Handler<[NamedFeed & Admitted]>;
  /** A `reader` whose request stores nothing but counts toward a rate limit of its own. */
  previewer: Handler<[NamedFeed & Admitted]>;
  /** Who may change a feed by its name, which exists; counts as a write. */
  writer: Handler<[Pick<FeedForm, 'feed'> & Admitted]>;
  /** Who may post to a name; counts as a write. */
  poster: Handler<[NamedFeed & Admitted]>;
  /** Who may call tools, from no other site's page. */
  assistant: Handler<[Admitted]>;
  metrics: Handler;
  operator: Handler<[Caller]>;
}

export type AccessKind = keyof Handlers;
export type HandlerOf<A extends AccessKind> = Handlers[A];

interface Traits<A extends AccessKind> extends Pick<Operation, 'accepts' | 'cors'> {
  readonly access: A;
  /** Refusals are pages for a client that asks for HTML, as those of `page` always are. */
  readonly isPage?: boolean;
  /** Takes the password of the instance in HTTP Basic too, for programs that can send nothing else. */
  readonly takesBasic?: boolean;
  /** For the API description, which leaves out operations without it, such as pages. */
  readonly docs?: OperationDocs;
}

interface Explained {
  /** The page of the form again, with the entered values and the reason for the refusal. */
  readonly explain: Handler<[FeedForm, Refusal]>;
  /** Answers if there is no such feed; `not_found` by default. */
  readonly absent?: Handler<[NameForm]>;
}

type TraitsOf<A extends AccessKind> = Traits<A> & (A extends 'feed-form' ? Explained : unknown);

export type OperationOf<A extends AccessKind> = {
  [Kind in A]: TraitsOf<Kind> &
    Pick<Operation, 'id' | 'method' | 'path'> & { readonly handle: Handlers[Kind] };
}[A];

export type DescribedOperation = OperationOf<AccessKind>;

/**
 * A row of the table of operations. The service's own addresses are no feeds, so a path below that of a feed takes none of
 * their names.
 * @param id stable name, for logs, metrics and the API description
 */
export function operation<A extends AccessKind>(
  id: string,
  route: `${Operation['method']} /${string}`,
  traits: TraitsOf<A>,
  handle: Handlers[A],
): DescribedOperation {
  const [method, path] = route.split(' ') as [Operation['method'], string];
  const accepts = path.startsWith('/{feed}/') ? isFeedPath : undefined;
  return { id, method, path, accepts, ...traits, handle } as DescribedOperation;
}

/** The traits of an operation that changes a feed. */
export function forWriter(docs: OperationDocs) {
  return { access: 'writer', docs } as const;
}

const isFeedPath: NonNullable<Operation['accepts']> = ([feed = '']) => !ROUTE_NAMES.has(feed);
