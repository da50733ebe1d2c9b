import { readConfig } from '../../src/config.ts';
import { Assets } from '../../src/web/assets.ts';
import { type Site, siteOf } from '../../src/web/site.ts';

/** What pages have in common on an instance with these settings. */
export function siteWith(env: Record<string, string> = {}): Site {
  return siteOf(readConfig(env), new Assets().paths);
}
