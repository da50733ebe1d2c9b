import type { Config } from '../config.ts';
import type { FeedLimits } from '../storage/storage.ts';
import type { AssetName } from './assets.ts';
import type { Tier } from './tier.ts';

/** What all pages of an instance have in common: plain data, so that a page can be made on a worker thread. */
export interface Site {
  readonly title: string;
  /** The path of the instance, without a trailing slash: mostly empty. Links begin with it. */
  readonly root: string;
  /** Zone of the times shown, by its IANA name. */
  readonly timeZone: string;
  /** The legal pages that the instance has, by their addresses. */
  readonly legalPages: readonly LegalPage[];
  /** Where readers report a note: a URL with `{read_id}`, `{note_id}`, `{file}`. */
  readonly reportUrl: string | undefined;
  /** Visitors must log in. */
  readonly isLocked: boolean;
  /** There is an instance password, with which programs can post. */
  readonly hasPassword: boolean;
  /** The provider with which people sign in, as they know it; undefined where they do not. */
  readonly signInLabel: string | undefined;
  /** Pictures may be posted. */
  readonly takesPictures: boolean;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
  /** A picture larger than this is shrunk in the browser, bytes. */
  readonly shrinkImageBytes: number;
  /** Read ids may be chosen. */
  readonly allowsCustomIds: boolean;
  /** Feeds need a license beyond the free tier; undefined where they need none. */
  readonly hosted: Hosted | undefined;
  /** Of the feed that a page by its name is of, where feeds need a license. */
  readonly tier?: Tier | undefined;
  /** The address of each asset, with a hash of its content in it. */
  readonly assets: Readonly<Record<AssetName, string>>;
}

/** What pages say of licenses. */
export interface Hosted {
  /** The texts that a feed may have without one. */
  readonly freeNotes: number;
  /** Where one can be bought. */
  readonly licenseUrl: string | undefined;
}

/** The pages that the law may ask for. */
export const LEGAL_PAGES = ['imprint', 'privacy', 'terms'] as const;
export type LegalPage = (typeof LEGAL_PAGES)[number];

/** What the settings say of pages. */
export function siteOf(config: Config, assets: Site['assets'], limits?: FeedLimits): Site {
  const root = config.publicUrl === undefined ? '' : new URL(config.publicUrl).pathname.replace(/\/$/, '');
  const rooted = Object.entries(assets).map(([name, path]) => [name, root + path]);
  return {
    title: config.title,
    root,
    timeZone: config.timeZone,
    legalPages: LEGAL_PAGES.filter((page) => config[`${page}File`] !== undefined),
    reportUrl: config.reportUrl,
    isLocked: config.password !== undefined || config.oidcIssuer !== undefined,
    hasPassword: config.password !== undefined,
    signInLabel: config.oidcLabel ?? (config.oidcIssuer && new URL(config.oidcIssuer).host),
    takesPictures: config.imageUploads,
    maxImageBytes: config.maxImageBytes,
    shrinkImageBytes: config.shrinkImageBytes,
    allowsCustomIds: config.allowCustomIds,
    hosted: limits?.free && { freeNotes: limits.free.notes, licenseUrl: config.licenseUrl },
    assets: Object.fromEntries(rooted),
  };
}
