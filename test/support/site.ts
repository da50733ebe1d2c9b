import { readConfig } from '../../src/config.ts';
import { Assets } from '../../src/web/assets.ts';
import { type Site, siteOf } from '../../src/web/site.ts';

const assets = await Assets.build();

/** What pages have in common on an instance with these settings. */
export function siteWith(env: Record<string, string> = {}): Site {
  return siteOf(readConfig(env), assets.paths);
}
