import type { Config } from '../config.ts';
import type { Tier } from '../licenses/licenses.ts';
import type { AssetName } from './assets.ts';

/** Who looks at a page of a locked instance. */
export interface Visitor {
  /** Name of a person who has signed in; undefined if the password was given. */
  readonly sender?: string | undefined;
}

/** What all pages of an instance have in common: plain data, so that a page can be made on a worker thread. */
export interface Site
  extends Pick<
    Config,
    | 'title'
    | 'timeZone'
    | 'keepDays'
    | 'licenseUrl'
    | 'reportUrl'
    | 'maxImageBytes'
    | 'shrinkImageBytes'
    | 'search'
  > {
  /** Path of the instance without a trailing slash; usually empty. Links begin with it. */
  readonly root: string;
  readonly legalPages: readonly LegalPage[];
  readonly isLocked: boolean;
  /** There is an instance password, so programs can post. */
  readonly hasPassword: boolean;
  /** Providers that people sign in with; none without sign-in. */
  readonly providers: readonly Pick<Config['providers'][number], 'name' | 'label'>[];
  readonly takesPictures: boolean;
  /** Its own pages take reports; then `reportUrl` is no address. */
  readonly takesReports: boolean;
  readonly allowsCustomIds: boolean;
  /** Tier of the feed that the page is about, if feeds need licenses. */
  readonly tier?: Tier;
  /** Who is logged in; never on public pages. */
  readonly visitor?: Visitor;
  /** URL path of each asset. */
  readonly assets: Readonly<Record<AssetName, string>>;
}

/** Titles of the legal pages. */
export const LEGAL_TITLES = { imprint: 'Imprint', privacy: 'Privacy', terms: 'Terms' } as const;
export type LegalPage = keyof typeof LEGAL_TITLES;
export const LEGAL_PAGES = Object.keys(LEGAL_TITLES) as LegalPage[];

/** The media types of pictures that a file input and the share target accept. */
export const ANY_PICTURE = 'image/png,image/jpeg,image/gif,image/webp';

/** The site as the pages of a feed in this tier show it. */
export function withTier(site: Site, tier: Tier | undefined): Site {
  if (tier === undefined) return site;
  return { ...site, tier, takesPictures: site.takesPictures && tier.until !== undefined };
}

/** The site as its pages show it to somebody; undefined for nobody who is logged in. */
export function withVisitor(site: Site, visitor: Visitor | undefined): Site {
  return visitor === undefined ? site : { ...site, visitor: { sender: visitor.sender } };
}

/** What a browser needs to install the instance as an app (https://www.w3.org/TR/appmanifest/). */
export function manifest({ title, assets }: Site): string {
  const icons = [
    { src: assets['icon.svg'], type: 'image/svg+xml', sizes: 'any' },
    { src: assets['icon-192.png'], type: 'image/png', sizes: '192x192', purpose: 'any maskable' },
    { src: assets['icon-512.png'], type: 'image/png', sizes: '512x512', purpose: 'any maskable' },
  ];
  return JSON.stringify({
    name: title,
    short_name: title,
    // Relative to the manifest, so that it is right for an instance below a path.
    id: './',
    start_url: './',
    scope: './',
    display: 'standalone',
    background_color: '#f7f8f6',
    theme_color: '#0a5254',
    icons,
    // Taken by `browser/worker.ts`.
    share_target: {
      action: './api/share',
      method: 'POST',
      enctype: 'multipart/form-data',
      params: {
        title: 'title',
        text: 'text',
        url: 'url',
        files: [{ name: 'files', accept: ANY_PICTURE.split(',') }],
      },
    },
  });
}
