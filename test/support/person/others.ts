import type { FeedClient } from '../feed-client.ts';
import type { Random } from '../random.ts';
import type { Diary } from './diary.ts';

/** So few that those of two people fit into one note. */
export const MAX_TAGS = 4;

/** Others, who change a feed from elsewhere. */
export class Others {
  /** With the password of now. */
  feed: FeedClient;
  /** Of the feed, if it has one. */
  password: string | undefined;
  readonly #random: Random;
  readonly #diary: Diary;

  constructor(random: Random, diary: Diary, feed: FeedClient, password: string | undefined) {
    this.#random = random;
    this.#diary = diary;
    this.feed = feed;
    this.password = password;
  }

  /** Changes one thing. */
  async act(): Promise<void> {
    const random = this.#random;
    if (random.oneIn(6)) return this.#describe();
    if (this.password !== undefined && random.oneIn(3)) return this.#lock();
    const { notes: all = [] } = (await this.feed.list('?limit=100')).json;
    const notes = all.filter(({ attached_to }: Record<string, unknown>) => attached_to === undefined);
    if (notes.length === 0) return this.#post();
    const { id } = random.oneOf<{ id: string }>(notes);
    if (random.oneIn(8)) return this.#delete(id);
    return random.oneIn(3) ? this.#post() : this.#edit(id);
  }

  async #post(): Promise<void> {
    const word = this.#diary.word('s');
    this.#diary.say(`somebody posts ${word}`);
    if ((await this.feed.post(word)).status === 201) this.#diary.keep(word);
  }

  async #edit(id: string): Promise<void> {
    const { json, headers } = await this.feed.get(`/notes/${id}`);
    const { type, content, alt = '', title, tags } = json;
    const isText = type === 'text/markdown';
    const member = isText ? this.#random.oneOf(['content', 'content', 'title', 'tags']) : 'alt';
    if (member === 'tags' && tags.length === MAX_TAGS) return;
    const word = this.#diary.word('s');
    this.#diary.say(`somebody adds ${word} to the ${member} of ${id}`);
    const feed = this.feed.with({ 'if-match': headers.get('etag')! });
    const members = { alt: `${alt} ${word}`.trim(), title: `${title} ${word}`.trim(), tags: [...tags, word] };
    const { status } =
      member === 'content'
        ? await feed.put(`/notes/${id}`, `${content}\n\n${word}`)
        : await feed.send('PATCH', `/notes/${id}`, JSON.stringify({ [member]: members[member as 'alt'] }));
    if (status === 200) this.#diary.keep(word);
    else this.#diary.say(`  ${status}`);
  }

  async #delete(id: string): Promise<void> {
    this.#diary.say(`somebody deletes ${id}`);
    await this.mayGo(id);
    await this.feed.send('DELETE', `/notes/${id}`);
  }

  /** The words of a note that is to be deleted. */
  async mayGo(id: string): Promise<void> {
    const { json } = await this.feed.get(`/notes/${id}`);
    for (const word of this.#diary.wordsIn(JSON.stringify(json ?? ''))) this.#diary.mayGo(word);
  }

  async #describe(): Promise<void> {
    const { status, json, headers } = await this.feed.get();
    if (status !== 200) return;
    const [word, member] = [this.#diary.word('t'), this.#random.oneOf(['title', 'description'])];
    this.#diary.say(`somebody sets ${word} in the ${member}`);
    const feed = this.feed.with({ 'if-match': headers.get('etag')! });
    const body = JSON.stringify({ [member]: `${json[member]} ${word}`.trim() });
    if ((await feed.send('PATCH', '', body)).status === 200) this.#diary.keep(word);
  }

  /** Changes the password, which ends all logins. */
  async #lock(): Promise<void> {
    const password = `password ${this.#diary.did.length}`;
    const { status } = await this.feed.send('PUT', '/password', JSON.stringify({ password }));
    this.#diary.say(`somebody changes the password: ${status}`);
    if (status !== 204) return;
    this.password = password;
    this.feed = this.feed.with({ 'x-feed-password': password });
  }

  /** The notes, each as a text, and what the feed says of itself. */
  async texts(): Promise<string[]> {
    const { title: name = '', description = '' } = (await this.feed.get()).json;
    const { notes = [] } = (await this.feed.list('?limit=100')).json;
    // The alternative text of a picture is in the text that it came with, too, and so are tags.
    const texts = notes.map(({ content, title, alt, tags, name, attached_to }: Record<string, unknown>) =>
      JSON.stringify(
        attached_to === undefined ? [content, title === name ? '' : title, alt, tags, name] : [name],
      ),
    );
    return [...texts, `${name} ${description}`];
  }
}
