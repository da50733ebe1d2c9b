import { join } from 'node:path';
import type { Test } from 'tap';
import type { ImageStore } from '../../src/images/image-store.ts';
import { type ImagePlace, openImages } from '../../src/images/open-images.ts';
import { tempDir } from './service.ts';

export const OPERATOR_TOKEN = 'a token of the operator for tests';

/** A database in DATA_DIR, and an operator. */
export const ON_SQLITE = {
  SERVICE_STORAGE: 'sqlite',
  // Of the backend that the test runs on otherwise.
  SERVICE_DATABASE_URL: '',
  SERVICE_SECRET: 'a secret of tests that is long enough',
  SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
};

/** The settings for pictures in that place. */
export function imageSettings(place: ImagePlace | undefined): Record<string, string> {
  if (place === undefined) return { SERVICE_IMAGES: 'db' };
  if (place.kind === 'fs') return { SERVICE_IMAGES: 'fs', SERVICE_IMAGES_DIR: place.dir };
  return {
    SERVICE_IMAGES: 's3',
    SERVICE_S3_ENDPOINT: place.endpoint,
    SERVICE_S3_BUCKET: place.bucket,
    SERVICE_S3_REGION: place.region,
    SERVICE_S3_ACCESS_KEY: place.accessKey,
    SERVICE_S3_SECRET_KEY: place.secretKey,
  };
}

/** A folder for pictures, which is there when the service makes it. */
export async function folderPlace(t: Test): Promise<ImagePlace> {
  return { kind: 'fs', dir: join(await tempDir(t), 'pictures') };
}

/** The store at a place, to look into it from outside. */
export async function storeAt(t: Test, place: ImagePlace): Promise<ImageStore> {
  const store = await openImages(place, undefined);
  t.teardown(() => store.close());
  return store;
}

/** How many objects there are. */
export async function countOf(store: ImageStore): Promise<number> {
  let count = 0;
  for await (const page of store.list()) count += page.length;
  return count;
}
