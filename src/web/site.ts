import type { Config } from '../config.ts';
import type { Tier } from '../licenses/licenses.ts';
import type { AssetName } from './assets.ts';

/** What all pages of an instance have in common: plain data, so that a page can be made on a worker thread. */
export interface Site
  extends Pick<
    Config,
    'title' | 'timeZone' | 'keepDays' | 'licenseUrl' | 'reportUrl' | 'maxImageBytes' | 'shrinkImageBytes'
  > {
  /** Path of the instance without a trailing slash; usually empty. Links begin with it. */
  readonly root: string;
  readonly legalPages: readonly LegalPage[];
  readonly isLocked: boolean;
  /** There is an instance password, so programs can post. */
  readonly hasPassword: boolean;
  /** Name of the OpenID Connect provider, for people; undefined without sign-in. */
  readonly signInLabel: string | undefined;
  readonly takesPictures: boolean;
  readonly allowsCustomIds: boolean;
  /** Tier of the feed that the page is about, if feeds need licenses. */
  readonly tier?: Tier;
  /** URL path of each asset. */
  readonly assets: Readonly<Record<AssetName, string>>;
}

/** Titles of the legal pages. */
export const LEGAL_TITLES = { imprint: 'Imprint', privacy: 'Privacy', terms: 'Terms' } as const;
export type LegalPage = keyof typeof LEGAL_TITLES;
export const LEGAL_PAGES = Object.keys(LEGAL_TITLES) as LegalPage[];

export function siteOf(config: Config, assets: Site['assets']): Site {
  const { title, timeZone, keepDays, licenseUrl, reportUrl, maxImageBytes, shrinkImageBytes } = config;
  const root = config.publicUrl === undefined ? '' : new URL(config.publicUrl).pathname.replace(/\/$/, '');
  const withRoot = Object.entries(assets).map(([name, path]) => [name, root + path]);
  return {
    ...{ title, timeZone, keepDays, licenseUrl, reportUrl, maxImageBytes, shrinkImageBytes },
    root,
    legalPages: LEGAL_PAGES.filter((page) => config[`${page}File`] !== undefined),
    isLocked: config.password !== undefined || config.oidcIssuer !== undefined,
    hasPassword: config.password !== undefined,
    signInLabel: config.oidcLabel ?? (config.oidcIssuer && new URL(config.oidcIssuer).host),
    takesPictures: config.imageUploads,
    allowsCustomIds: config.allowCustomIds,
    assets: Object.fromEntries(withRoot),
  };
}

/** The site as the pages of a feed in this tier show it. */
export function withTier(site: Site, tier: Tier | undefined): Site {
  if (tier === undefined) return site;
  return { ...site, tier, takesPictures: site.takesPictures && tier.until !== undefined };
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
    background_color: '#fbfbfc',
    theme_color: '#2f5fd0',
    icons,
  });
}
