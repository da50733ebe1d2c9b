import { join } from 'node:path';
import { KeyedLock } from '../keyed-lock.ts';
import { NO_SETTINGS, parseSettings, type StoredSettings, serializeSettings } from '../metadata.ts';
import { licenseTaken } from '../refused-writes.ts';
import type { AllowedFeed, Feed, FeedSettings, NewLicense } from '../storage.ts';
import type { Change } from './durable.ts';
import { licensePart, line, passwordPart, reserve } from './feed-maker.ts';
import type { FeedFiles, IndexedFeed } from './indexed-feed.ts';
import { LICENSE_FILE, PASSWORD_FILE, READ_ID_FILE } from './names.ts';
import { settingsChange } from './note-files.ts';
import type { Removals } from './removals.ts';
import { changeFeed, type WriteParts } from './steps.ts';

/** Changes and deletes feeds. */
export class FeedEditor {
  readonly #parts: WriteParts;
  readonly #removals: Pick<Removals, 'remove'>;
  /** Who attaches a license, by its id, is alone with it: the feeds that have it are counted. */
  readonly #attaching = new KeyedLock<string>();

  constructor(parts: WriteParts, removals: Pick<Removals, 'remove'>) {
    this.#parts = parts;
    this.#removals = removals;
  }

  /** See `Storage.configure`. A crash in the middle can leave the other settings changed and the read id not. */
  configure(allowed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<IndexedFeed | undefined> {
    const { dir, index } = this.#parts;
    return changeFeed(this.#parts, allowed, async (feed) => {
      const { readId, ...settings } = change(feed.record());
      const folder = join(dir, feed.name);
      const changes = hasSettings(feed, settings) ? [] : [await settingsChange(folder, settings)];
      const files = { ...feed.files, settings: asRead(settings) };
      if (readId === feed.readId) return changes.length > 0 ? this.#write(feed, changes, files) : feed;
      reserve(this.#parts, feed.name, readId);
      changes.push({ name: READ_ID_FILE, bytes: line(readId) });
      try {
        return await this.#write(feed, changes, { ...files, storedReadId: readId });
      } finally {
        index.unreserve(feed.name, readId);
      }
    });
  }

  /** See `Storage.setPassword`. */
  async setPassword(allowed: AllowedFeed, passwordHash: string | undefined): Promise<boolean> {
    const set = await changeFeed(this.#parts, allowed, (feed) => {
      const removal = { name: PASSWORD_FILE, bytes: undefined };
      const change = passwordHash === undefined ? removal : passwordPart(passwordHash);
      return this.#write(feed, [change], { ...feed.files, passwordHash });
    });
    return set !== undefined;
  }

  /** See `Storage.setLicense`. */
  setLicense(allowed: AllowedFeed, license: NewLicense | undefined): Promise<IndexedFeed | undefined> {
    return changeFeed(this.#parts, allowed, (feed) =>
      license === undefined
        ? this.#write(feed, [{ name: LICENSE_FILE, bytes: undefined }], { ...feed.files, license: undefined })
        : this.#attaching.exclusive(license.id, () => this.#attach(feed, license)),
    );
  }

  async #attach(feed: IndexedFeed, { id, text, feeds }: NewLicense): Promise<IndexedFeed> {
    if (this.#parts.index.countLicensed(id, feed) >= feeds) throw licenseTaken(feeds);
    return this.#write(feed, [licensePart(text)], { ...feed.files, license: { text, id } });
  }

  /**
   * See `Storage.deleteFeed`. A crash in the middle leaves the feed as it was, though nobody else can choose its
   * read id any more. The feed is gone, and its name free, once its folder has another name; then its files go.
   */
  async deleteFeed(allowed: AllowedFeed): Promise<boolean> {
    const { dir, index, retired, writer } = this.#parts;
    const moved = await changeFeed(this.#parts, allowed, async (feed) => {
      await retired.add(feed.readId);
      const temp = await writer.moveAway(dir, feed.name);
      index.drop(feed);
      return temp;
    });
    if (moved === undefined) return false;
    await this.#removals.remove(join(dir, moved));
    return true;
  }

  async #write(feed: IndexedFeed, changes: readonly Change[], files: FeedFiles): Promise<IndexedFeed> {
    const { dir, index, writer } = this.#parts;
    await writer.change(join(dir, feed.name), changes);
    index.apply(feed, { files });
    return feed;
  }
}

function hasSettings({ files }: IndexedFeed, settings: StoredSettings): boolean {
  return serializeSettings(files.settings) === serializeSettings(settings);
}

/** The settings as the file will say them, so that what the watch reads of it is no news. */
function asRead(settings: StoredSettings): StoredSettings {
  return parseSettings(serializeSettings(settings) ?? '') ?? NO_SETTINGS;
}
