import { closest, find, onActions, ROOT } from '../page/elements.ts';
import { toast } from '../page/toast.ts';
import { forgetFeed, type KeptFeed, keptFeeds, writeFeeds } from './feeds.ts';

/** Feeds that are asked for new notes. */
const MAX_ASKED = 20;
/** More new notes than this are not counted. */
const MAX_COUNTED = 10;
const UNDO_MS = 10_000;

/** Lists the feeds that this browser keeps. The section stays hidden while there are none. */
export function showFeeds(section: HTMLElement): void {
  const list = find<HTMLUListElement>(section, 'ul');
  const template = find<HTMLTemplateElement>(section, 'template');
  const isShared = new URLSearchParams(location.search).has('shared');
  list.addEventListener('click', ({ target }) => {
    const item = closest(target, 'button')?.closest('li');
    if (item) forget(item);
  });
  onActions(section, {
    'forget-all': () => {
      change('This browser has forgotten your feeds.', () => writeFeeds([]));
      find<HTMLElement>(document, '#feed').focus();
    },
  });
  const feeds = keptFeeds();
  section.hidden = feeds.length === 0;
  list.replaceChildren(...feeds.map(itemOf));
  for (const feed of feeds.slice(0, MAX_ASKED)) void askForNew(feed);

  function itemOf({ name, title }: KeptFeed): HTMLElement {
    const item = find<HTMLElement>(template.content, 'li').cloneNode(true) as HTMLElement;
    item.dataset.feed = name;
    const link = find<HTMLAnchorElement>(item, 'a');
    link.href = `${ROOT}/${name}${isShared ? '?shared=1' : ''}`;
    find(link, 'bdi').textContent = title;
    find(item, 'button').ariaLabel = `Forget ${title}`;
    return item;
  }

  function forget(item: HTMLElement): void {
    const next = (item.nextElementSibling ?? item.previousElementSibling) as HTMLElement | null;
    const after = next?.dataset.feed;
    const title = find(item, 'bdi').textContent;
    change(`This browser has forgotten ${title}.`, () => forgetFeed(item.dataset.feed!));
    const focused = after === undefined ? undefined : itemFor(after)?.querySelector('button');
    (focused ?? find<HTMLElement>(document, '#feed')).focus();
  }

  /** Changes the list, and offers to take that back. */
  function change(sentence: string, work: () => void): void {
    const before = keptFeeds();
    const states = [...list.children];
    work();
    const names = new Set(keptFeeds().map(({ name }) => name));
    list.replaceChildren(...states.filter((item) => names.has((item as HTMLElement).dataset.feed!)));
    section.hidden = names.size === 0;
    const undo = () => {
      // Since then, other windows may have opened more, and more may have been forgotten.
      const now = keptFeeds();
      const isNew = ({ name }: KeptFeed) => before.every((feed) => feed.name !== name);
      const isBack = ({ name }: KeptFeed) => !names.has(name) || now.some((feed) => feed.name === name);
      const asItIs = (feed: KeptFeed) => now.find(({ name }) => name === feed.name) ?? feed;
      writeFeeds([...now.filter(isNew), ...before.filter(isBack).map(asItIs)]);
      section.hidden = false;
      const items = new Map(
        [...states, ...list.children].map((item) => [(item as HTMLElement).dataset.feed, item]),
      );
      list.replaceChildren(...keptFeeds().flatMap(({ name }) => items.get(name) ?? []));
      find<HTMLElement>(list, 'a').focus();
    };
    toast(sentence, { label: 'Undo', run: undo }, UNDO_MS);
  }

  /** Counts what is new in a feed. Its own page reads the same list with the same cookies. */
  async function askForNew({ name, seen }: KeptFeed): Promise<void> {
    const state = newNotesSince(seen, await fetchNotes(name));
    const shown = itemFor(name)?.querySelector('.state');
    if (!shown) return;
    shown.textContent = state;
    shown.classList.toggle('unread', state.endsWith('new'));
  }

  function itemFor(name: string): HTMLElement | undefined {
    return [...list.querySelectorAll('li')].find(({ dataset }) => dataset.feed === name);
  }
}

interface ListedNote {
  readonly created_at: string;
  /** The text that shows this picture. */
  readonly attached_to?: string | null;
  /** The feed's page does not show it. */
  readonly unlisted?: boolean;
}

/** The newest notes; `locked` without access, undefined if the service cannot be asked. */
async function fetchNotes(name: string): Promise<ListedNote[] | 'locked' | undefined> {
  try {
    const answer = await fetch(`${ROOT}/api/v1/feeds/${name}/notes?limit=${MAX_COUNTED}`);
    if (answer.status === 401) return 'locked';
    return answer.ok ? (await answer.json()).notes : undefined;
  } catch {
    return undefined;
  }
}

/** What the list says of a feed. One without notes stays in it, because nobody else may know its name. */
function newNotesSince(seen: string, notes: ListedNote[] | 'locked' | undefined): string {
  if (notes === undefined) return '';
  if (notes === 'locked') return 'Locked';
  const isNew = ({ created_at }: ListedNote) => created_at > seen;
  const count = notes.filter((note) => isNew(note) && !note.attached_to && !note.unlisted).length;
  if (count === 0) return '';
  return notes.every(isNew) && notes.length === MAX_COUNTED ? `${count}+ new` : `${count} new`;
}
