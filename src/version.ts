import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of the service, as in package.json. */
export const { version: VERSION }: { readonly version: string } = JSON.parse(
  readFileSync(findPackageJSON(import.meta.url)!, 'utf8'),
);
