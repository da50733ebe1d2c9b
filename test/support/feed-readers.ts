import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { program } from './installed.ts';

/** Real feed readers, as Debian packages them, that read a feed at an address. */

const run = promisify(execFile);
const OPTIONS = { timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };

/** An item as a reader understood it. */
export interface ReadItem {
  title: string;
  link: string;
  id: string;
  content: string;
  /** Address of the enclosure; empty without one. */
  enclosure: string;
}

/** What feedparser says of a feed that it asked for twice, the second time with the validators of the first. */
export interface ParsedFeed {
  /** The first problem with the XML; null when it is well-formed. */
  problem: string | null;
  status: number;
  statusOfSecond: number;
  channel: { title: string; link: string; description: string; ttl: string; image: string };
  items: (ReadItem & {
    summary: string;
    author: string;
    tags: string[];
    published: string;
    length: string;
  })[];
}

/**
 * Reads a feed with newsboat, `reloads` times into one cache: it sends validators from its third reload. Of
 * enclosures it keeps only what can be played.
 */
export function readWithNewsboat(url: string, reloads = 1): Promise<ReadItem[]> {
  return inFolder(async (folder) => {
    const file = (name: string) => join(folder, name);
    await writeFile(file('urls'), `${url}\n`);
    await writeFile(file('config'), '');
    const files = ['-u', file('urls'), '-C', file('config'), '-c', file('cache.db')];
    for (let reload = 0; reload < reloads; reload += 1) {
      await run(program('newsboat'), [...files, '-x', 'reload'], { ...OPTIONS, env: { HOME: folder } });
    }
    const cache = new DatabaseSync(file('cache.db'), { readOnly: true });
    const items = cache
      .prepare('SELECT title, url AS link, guid AS id, content, enclosure_url AS enclosure FROM rss_item')
      .all();
    cache.close();
    return items.map((item) => ({ ...item })) as unknown as ReadItem[];
  });
}

/** Reads a feed with sfeed, which fetches without any validator or user agent. */
export function readWithSfeed(url: string): Promise<ReadItem[]> {
  return inFolder(async (folder) => {
    await mkdir(join(folder, 'feeds'));
    const config = `sfeedpath="${folder}/feeds"\nfeeds() { feed "feed" "${url}"; }\n`;
    await writeFile(join(folder, 'sfeedrc'), config);
    await run(program('sfeed'), [join(folder, 'sfeedrc')], OPTIONS);
    const lines = (await readFile(join(folder, 'feeds', 'feed'), 'utf8')).split('\n').slice(0, -1);
    return lines.map((line) => {
      const [, title = '', link = '', content = '', , id = '', , enclosure = ''] = line.split('\t');
      return { title, link, id, content: unescaped(content), enclosure };
    });
  });
}

/** Reads a feed with Python's feedparser, twice. Values come without white space at their ends. */
export async function readWithFeedparser(url: string): Promise<ParsedFeed> {
  const { stdout } = await run(program('python3'), ['-c', FEEDPARSER, url], OPTIONS);
  return JSON.parse(stdout) as ParsedFeed;
}

/** Fetches a document with xmllint; throws what it has against it. */
export async function lintWithXmllint(url: string): Promise<void> {
  const { stderr } = await run(program('xmllint'), ['--noout', url], OPTIONS);
  if (stderr !== '') throw new Error(stderr);
}

const FEEDPARSER = `
import feedparser, json, sys
url = sys.argv[1]
feedparser.SANITIZE_HTML = False
feedparser.RESOLVE_RELATIVE_URIS = False
first = feedparser.parse(url)
second = feedparser.parse(url, etag=first.get('etag'), modified=first.get('modified'))
def item(entry):
    enclosure = (entry.get('enclosures') or [{}])[0]
    return {
        'title': entry.get('title', ''),
        'link': entry.get('link', ''),
        'id': entry.get('id', ''),
        'summary': entry.get('summary', ''),
        'content': (entry.get('content') or [{}])[0].get('value', ''),
        'author': entry.get('author', ''),
        'tags': [tag.term for tag in entry.get('tags', [])],
        'published': entry.get('published', ''),
        'enclosure': enclosure.get('href', ''),
        'length': enclosure.get('length', ''),
    }
channel = first.feed
print(json.dumps({
    'problem': str(first.bozo_exception) if first.bozo else None,
    'status': first.status,
    'statusOfSecond': second.status,
    'channel': {
        'title': channel.get('title', ''),
        'link': channel.get('link', ''),
        'description': channel.get('description', ''),
        'ttl': channel.get('ttl', ''),
        'image': channel.get('image', {}).get('href', ''),
    },
    'items': [item(entry) for entry in first.entries],
}))
`;

// sfeed(5): tab, line feed and backslash are escaped in the content.
function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, letter) => ({ t: '\t', n: '\n' })[letter as string] ?? letter);
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'feed-reader-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
