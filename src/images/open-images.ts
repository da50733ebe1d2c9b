import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageSettings } from '../config.ts';
import type { Owner } from '../privileges.ts';
import { cannotBeUsed } from '../system-errors.ts';
import { FolderStore } from './folder-store.ts';
import type { ImageStore } from './image-store.ts';
import type { S3Place } from './s3-store.ts';

/** Where an image store is. */
export type ImagePlace = { readonly kind: 'fs'; readonly dir: string } | ({ readonly kind: 's3' } & S3Place);

/** The name of the default folder in DATA_DIR. */
const FOLDER = 'images';

/** The place of pictures by the settings; undefined for the database. */
export function configuredPlace(settings: ImageSettings): ImagePlace | undefined {
  const { images, dataDir, imagesDir, s3Endpoint, s3Bucket, s3AccessKey, s3SecretKey } = settings;
  if (images === 'db') return undefined;
  if (images === 'fs') return { kind: 'fs', dir: imagesDir ?? join(dataDir, FOLDER) };
  return {
    kind: 's3',
    endpoint: s3Endpoint!,
    bucket: s3Bucket!,
    region: settings.s3Region,
    accessKey: s3AccessKey!,
    secretKey: s3SecretKey!,
  };
}

/**
 * Opens the store of the settings. A missing folder is made; an S3 store need not be reachable yet. Throws an
 * error with a sentence for the operator if the folder cannot be used.
 */
export async function openImages(place: ImagePlace, owner: Owner | undefined): Promise<ImageStore> {
  if (place.kind === 's3') return openS3(place);
  try {
    return await FolderStore.make(place.dir, owner);
  } catch (error) {
    throw cannotBeUsed(`SERVICE_IMAGES_DIR=${place.dir}`, (error as Error).cause ?? error);
  }
}

/** Opens an existing store. Undefined if there is no such folder. */
export async function openSource(place: ImagePlace): Promise<ImageStore | undefined> {
  if (place.kind === 's3') return openS3(place);
  return statSync(place.dir, { throwIfNoEntry: false })?.isDirectory()
    ? new FolderStore(place.dir)
    : undefined;
}

/** Whether two places have the same name; one place can have several. */
export function isSamePlace(a: ImagePlace, b: ImagePlace): boolean {
  if (a.kind === 'fs') return b.kind === 'fs' && realPath(a.dir) === realPath(b.dir);
  return b.kind === 's3' && a.bucket === b.bucket && baseOf(a.endpoint) === baseOf(b.endpoint);
}

/** Imported lazily because its client is large. */
async function openS3(place: S3Place): Promise<ImageStore> {
  return new (await import('./s3-store.ts')).S3Store(place);
}

function realPath(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}

function baseOf(endpoint: string): string {
  return new URL(endpoint).href.replace(/\/+$/, '');
}
