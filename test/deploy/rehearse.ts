/** Instances that are backed up while posts go on, destroyed, and restored elsewhere, by the commands of docs/backups.md. */
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { blockWith, runBlock } from '../support/documented.ts';
import { imageSettings } from '../support/image-settings.ts';
import { missing, program } from '../support/installed.ts';
import { PostgresServer } from '../support/postgres.ts';
import { Rehearsal } from '../support/rehearsal.ts';
import { tempDir } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';
import { SwiftServer } from '../support/swift.ts';

const DOCUMENT = 'docs/backups.md';
const SECRET = 'a secret of tests that is long enough';

type Settings = Record<string, string>;

/** A place of notes or of pictures that can be backed up, destroyed and restored somewhere else. */
interface Kept {
  /** Settings of a service there. */
  readonly settings: Settings;
  /** Backs up; `backups` is the folder for that. */
  backUp(backups: string, settings: Settings): Promise<void>;
  destroy(): Promise<unknown>;
  /** The settings of the place that holds the backup now. */
  restore(backups: string): Promise<Settings>;
}

export type Storage = 'fs' | 'restic' | 'sqlite' | 'postgres';
export type Pictures = 'db' | 'fs' | 's3';

/** Why a rehearsal cannot run here, or false. */
export function obstacle(storage: Storage, pictures: Pictures): string | false {
  const needed = {
    fs: ['rsync'] as const,
    restic: ['rsync', 'restic'] as const,
    sqlite: [] as const,
    postgres: ['pg_dump', 'pg_restore'] as const,
  }[storage];
  const ofPictures = { db: [] as const, fs: ['rsync'] as const, s3: ['swift', 'rclone'] as const }[pictures];
  for (const name of [...needed, ...ofPictures]) {
    const reason = missing(name);
    if (reason) return reason;
  }
  return false;
}

const block = (heading: string, part: string) => blockWith(DOCUMENT, heading, part);

const inPlainFiles = (part: string) => block('## Plain files', part);

/** Plain files, by the script that copies them. The second copy is restored, which links what has not changed to the first. */
async function files(t: Test): Promise<Kept> {
  const dir = await dataDir(t);
  const settings = { SERVICE_STORAGE: 'fs', DATA_DIR: dir };
  return {
    settings,
    backUp: async (backups) => {
      const places = { '/backups': backups };
      await runBlock(inPlainFiles('DATA_DIR" /backups/notes-1'), settings, places);
      await runBlock(inPlainFiles('DATA_DIR" /backups/notes-2'), settings, places);
    },
    destroy: () => rm(dir, { recursive: true }),
    restore: async (backups) => {
      const elsewhere = { ...settings, DATA_DIR: await dataDir(t) };
      await runBlock(inPlainFiles('cp -a'), elsewhere, { '/backups': backups });
      return elsewhere;
    },
  };
}

/** Plain files, by way of a repository of `restic`. */
async function restic(t: Test): Promise<Kept> {
  const kept = await files(t);
  const repository = (backups: string) => ({
    RESTIC_REPOSITORY: join(backups, 'restic'),
    RESTIC_PASSWORD: 'a password of tests',
  });
  return {
    ...kept,
    backUp: async (backups, settings) => {
      await kept.backUp(backups, settings);
      await runBlock('restic init', repository(backups));
      await runBlock(inPlainFiles('restic backup'), repository(backups), { '/backups': backups });
    },
    restore: async (backups) => {
      const elsewhere = { ...kept.settings, DATA_DIR: await dataDir(t) };
      await runBlock(inPlainFiles('restic restore'), { ...elsewhere, ...repository(backups) });
      return elsewhere;
    },
  };
}

async function sqlite(t: Test): Promise<Kept> {
  const dir = await dataDir(t);
  const settings = { SERVICE_STORAGE: 'sqlite', DATA_DIR: dir, SERVICE_SECRET: SECRET };
  return {
    settings,
    backUp: (backups, env) => runBlock(block('## SQLite', 'run backup'), env, { '/backups': backups }),
    destroy: () => rm(dir, { recursive: true }),
    restore: async (backups) => {
      const elsewhere = { ...settings, DATA_DIR: await dataDir(t) };
      await runBlock(block('## SQLite', 'run restore'), elsewhere, { '/backups': backups });
      return elsewhere;
    },
  };
}

async function postgres(t: Test): Promise<Kept> {
  const programs = { initdb: program('initdb'), postgres: program('postgres') };
  const [old, fresh] = [
    await PostgresServer.start(t, [], programs),
    await PostgresServer.start(t, [], programs),
  ];
  const settingsOf = async (server: PostgresServer) => ({
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: await server.database(),
    SERVICE_SECRET: SECRET,
  });
  const settings = await settingsOf(old);
  const bin = { PATH: `${join(program('pg_dump'), '..')}:${process.env.PATH}` };
  return {
    settings,
    backUp: (backups) =>
      runBlock(block('## PostgreSQL', 'pg_dump'), { ...settings, ...bin }, { '/backups': backups }),
    destroy: () => old.stop('SIGQUIT'),
    restore: async (backups) => {
      const elsewhere = await settingsOf(fresh);
      const env = { ...elsewhere, ...bin };
      await runBlock(block('## PostgreSQL', 'pg_restore'), env, { '/backups': backups });
      return elsewhere;
    },
  };
}

const IN_ROWS: Kept = {
  settings: { SERVICE_IMAGES: 'db' },
  backUp: async () => {},
  destroy: async () => {},
  restore: async () => ({ SERVICE_IMAGES: 'db' }),
};

async function folder(t: Test): Promise<Kept> {
  const place = async () => {
    const parent = await tempDir(t);
    await chmod(parent, 0o777);
    return imageSettings({ kind: 'fs', dir: join(parent, 'pictures') });
  };
  const heading = '## Pictures in a store';
  const settings = await place();
  return {
    settings,
    backUp: (backups) => runBlock(block(heading, 'exclude=/.parts'), settings, { '/backups': backups }),
    destroy: () => rm(settings.SERVICE_IMAGES_DIR!, { recursive: true }),
    restore: async (backups) => {
      const elsewhere = await place();
      await runBlock(block(heading, '-a /backups/pictures'), elsewhere, { '/backups': backups });
      return elsewhere;
    },
  };
}

async function bucket(t: Test): Promise<Kept> {
  const [old, fresh] = [await SwiftServer.start(t), await SwiftServer.start(t)];
  const placed = async (server: SwiftServer) => {
    const place = await server.bucket();
    const remote = {
      RCLONE_CONFIG: '/nonexistent',
      RCLONE_CONFIG_NOTES_TYPE: 's3',
      RCLONE_CONFIG_NOTES_PROVIDER: 'Other',
      RCLONE_CONFIG_NOTES_ENDPOINT: place.endpoint,
      RCLONE_CONFIG_NOTES_ACCESS_KEY_ID: place.accessKey,
      RCLONE_CONFIG_NOTES_SECRET_ACCESS_KEY: place.secretKey,
    };
    return { place, settings: imageSettings({ kind: 's3', ...place }), remote };
  };
  const { settings, remote } = await placed(old);
  const heading = '## Pictures in a store';
  return {
    settings,
    backUp: (backups) =>
      runBlock(block(heading, 'copy "notes:'), { ...settings, ...remote }, { '/backups': backups }),
    destroy: async () => {},
    restore: async (backups) => {
      const elsewhere = await placed(fresh);
      const env = { ...elsewhere.settings, ...elsewhere.remote };
      await runBlock(block(heading, 'copy /backups'), env, { '/backups': backups });
      return elsewhere.settings;
    },
  };
}

const STORAGES = { fs: files, restic, sqlite, postgres };
const STORES = { db: async () => IN_ROWS, fs: folder, s3: bucket };

/** Rehearses one restore. @param posts how many notes there are before the backup, and at least after it */
export async function rehearse(t: Test, storage: Storage, pictures: Pictures, posts: number): Promise<void> {
  const [notes, images] = [await STORAGES[storage](t), await STORES[pictures](t)];
  const settings = { ...notes.settings, ...images.settings, SERVICE_IMAGES_KEEP_HOURS: '1' };
  const backups = await tempDir(t);
  await chmod(backups, 0o777);
  const start = (env: Settings) => {
    const { DATA_DIR: dir, ...others } = env;
    return ServiceProcess.start(t, { ...(dir && { dir }), env: others });
  };
  const service = await start(settings);
  const rehearsal = new Rehearsal(service.url);
  await rehearsal.post(posts);
  const before = [...rehearsal.sent];
  await notes.backUp(backups, settings);
  await images.backUp(backups, settings);
  const meanwhile = rehearsal.sent.length - before.length;
  t.ok(meanwhile > 0, `${meanwhile} notes were posted meanwhile`);
  await rehearsal.post(posts);
  await rehearsal.stop();
  await service.kill('SIGKILL');
  await Promise.all([notes.destroy(), images.destroy()]);

  const restored = { ...(await images.restore(backups)), ...(await notes.restore(backups)) };
  const again = await start(restored);
  await rehearsal.compare(t, again.url, before);
}
