import { readConfig } from '../../src/config.ts';
import { Assets } from '../../src/web/assets.ts';
import type { Site } from '../../src/web/site.ts';
import { siteOf } from '../../src/web/site-of-config.ts';

const assets = await Assets.build();

/** What pages have in common on an instance with these settings. */
export function siteWith(env: Record<string, string> = {}): Site {
  return siteOf(readConfig(env), assets.paths);
}
