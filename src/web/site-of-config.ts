import { BUILT_IN_REPORTS, type Config } from '../config.ts';
import { LEGAL_PAGES, type Site } from './site.ts';

/** What pages say of an instance with these settings. Not in `site.ts`, because the threads that make pages do without the settings. */
export function siteOf(config: Config, assets: Site['assets']): Site {
  const { title, timeZone, keepDays, licenseUrl, reportUrl, maxImageBytes, shrinkImageBytes, search } =
    config;
  const root = config.publicUrl === undefined ? '' : new URL(config.publicUrl).pathname.replace(/\/$/, '');
  const withRoot = Object.entries(assets).map(([name, path]) => [name, root + path]);
  return {
    ...{ title, timeZone, keepDays, licenseUrl, reportUrl, maxImageBytes, shrinkImageBytes, search },
    root,
    legalPages: LEGAL_PAGES.filter((page) => config[`${page}File`] !== undefined),
    isLocked: config.password !== undefined || config.providers.length > 0,
    hasPassword: config.password !== undefined,
    providers: config.providers.map(({ name, label }) => ({ name, label })),
    takesPictures: config.imageUploads,
    takesReports: config.reportUrl === BUILT_IN_REPORTS,
    allowsCustomIds: config.allowCustomIds,
    assets: Object.fromEntries(withRoot),
  };
}
