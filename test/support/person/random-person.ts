import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { ALL_DRAFTS, ALL_WAITING } from '../browser-storage.ts';
import type { CutProxy } from '../cut-proxy.ts';
import { eventually } from '../eventually.ts';
import type { FeedClient } from '../feed-client.ts';
import { picture } from '../pictures.ts';
import type { Random } from '../random.ts';
import { Diary } from './diary.ts';
import { MAX_TAGS, Others } from './others.ts';

/** The longest wait for a draft to be stored, and for a button that can be pressed, ms. */
const [DRAFT_MS, BUTTON_MS] = [3_000, 2_000];
/** How long an act, and the end of all, may take, ms. */
const [ACT_MS, END_MS] = [60_000, 300_000];
/** After so long without its draft, a page is loaded again, ms. */
const LATE_MS = 20_000;
const MAX_WINDOWS = 2;
/** The pictures in the box for new notes. */
const PICTURES = '#compose .attachments li';
/** What a page says that does not post what may be stored already. */
const STORED_BEFORE = /is stored already/;
/** More drafts than anybody here leaves. */
const MAX_DRAFTS = 30;

/** What the browser keeps: drafts, and posts that wait. */
const KEPT = `(async () => {
  const drafts = (await ${ALL_DRAFTS})
    .map(({ note, fields, pictures }) => ({ note, text: JSON.stringify([fields, pictures]) }));
  const waiting = (await ${ALL_WAITING})
    .map(({ headers, parts, refusal }) => ({
      text: JSON.stringify([headers, parts.map(([name, value]) => [name, value.name ?? value])]),
      isRefused: refusal !== undefined,
    }));
  return { drafts, waiting };
})()`;

interface Kept {
  readonly drafts: readonly { readonly note: string; readonly text: string }[];
  readonly waiting: readonly { readonly text: string; readonly isRefused: boolean }[];
}

/** Somebody who writes as chance has it. */
export class RandomPerson {
  readonly diary = new Diary();
  readonly #random: Random;
  readonly #context: BrowserContext;
  readonly #proxy: CutProxy;
  readonly #others: Others;
  readonly #hasStorage: boolean;
  readonly #windows: Page[] = [];
  #isCut = false;

  /**
   * @param password of the feed, if it has one
   * @param hasStorage whether the browser keeps anything
   */
  constructor(
    random: Random,
    context: BrowserContext,
    proxy: CutProxy,
    feed: FeedClient,
    password: string | undefined,
    hasStorage: boolean,
  ) {
    this.#random = random;
    this.#context = context;
    this.#proxy = proxy;
    this.#hasStorage = hasStorage;
    this.#others = new Others(random, this.diary, feed, password);
    context.on('request', (request) => {
      if (request.method() === 'DELETE')
        this.diary.say(`  a page deletes ${request.url().split('/').at(-1)}`);
    });
  }

  /** Does one thing. What cannot be done is left. */
  async act(): Promise<void> {
    await inTime(this.#act(), ACT_MS).catch((error: Error) =>
      this.diary.say(`  ${error.message.split('\n')[0]}`),
    );
  }

  /** Sends all that is written. Rejects if that cannot be done. */
  finish(): Promise<void> {
    return inTime(this.#finish(), END_MS);
  }

  async #act(): Promise<void> {
    const random = this.#random;
    if (this.#windows.length === 0) return this.#open();
    const page = random.oneOf(this.#windows);
    if ((await this.#isThere(page, this.#passwordForm)) && random.oneIn(2)) return this.#unlock(page);
    const acts: readonly (readonly [number, () => Promise<unknown>])[] = [
      [16, () => this.#type(page)],
      [8, () => this.#post(page)],
      [3, () => this.#attach(page)],
      [4, () => this.#edit(page)],
      [4, () => this.#save(page)],
      [2, () => this.#delete(page)],
      [1, () => this.#discard(page)],
      [4, () => this.#describe(page)],
      [3, () => this.#reload(page)],
      [2, () => this.#close(page)],
      [2, () => this.#open()],
      [2, () => this.#goElsewhere(page)],
      [4, () => this.#takeBack(page)],
      [4, () => this.#send(page)],
      [8, () => this.#changeNetwork()],
      [3, () => this.#others.act()],
      [3, () => this.#lock(page)],
    ];
    let left = random.below(acts.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of acts) {
      left -= weight;
      if (left < 0) return void (await act());
    }
  }

  async #finish(): Promise<void> {
    this.diary.say('finish');
    await this.#mend();
    for (const page of [...this.#windows]) await this.#close(page);
    const page = await this.#context.newPage();
    for (let rounds = 0; ; rounds += 1) {
      await page.goto(this.#address);
      await this.#unlock(page);
      await this.#sendAll(page);
      const { drafts, waiting } = await this.#kept(page);
      this.diary.say(`left: ${JSON.stringify([drafts, waiting])}`);
      if (drafts.length + waiting.length === 0) break;
      if (rounds === MAX_DRAFTS) throw new Error('drafts are left');
      const edited = drafts.find(({ note }) => note !== '');
      if (drafts.some(({ note }) => note === '')) await this.#postDraft(page);
      else if (edited) await this.#saveDraft(page, edited.note);
    }
    // Deletions whose page was left.
    await page.goto(this.#address);
    await page.waitForLoadState('networkidle');
    await page.close();
  }

  /** What is not as it should be. */
  async problems(): Promise<string[]> {
    return this.diary.problems(await this.#others.texts());
  }

  get #address(): string {
    return `${this.#proxy.url}/${this.#others.feed.name}`;
  }

  async #kept(page: Page): Promise<Kept> {
    if (!this.#hasStorage) return { drafts: [], waiting: [] };
    return page.evaluate<Kept>(KEPT).catch(async () => {
      // The page loads itself again, because its feed was just made.
      await page.waitForLoadState();
      return page.evaluate<Kept>(KEPT);
    });
  }

  /** Waits until a draft has it, or not. */
  async #ensure(page: Page, word: string): Promise<void> {
    if (!this.#hasStorage || this.#random.oneIn(4)) return;
    const end = performance.now() + DRAFT_MS;
    while (performance.now() < end) {
      const { drafts } = await this.#kept(page);
      if (drafts.some(({ text }) => text.includes(word))) {
        return this.diary.keep(word);
      }
    }
    // The box may have no script, because the network was cut before that was loaded.
    this.diary.say(`  ${word} is in no draft`);
  }

  async #open(): Promise<void> {
    if (this.#windows.length === MAX_WINDOWS) return;
    const page = await this.#context.newPage();
    this.diary.say(`open window ${this.#nameOf(page)}`);
    this.#windows.push(page);
    await page.goto(this.#address).catch(() => {});
  }

  readonly #names = new Map<Page, number>();
  #nameOf(page: Page): number {
    this.#names.set(page, this.#names.get(page) ?? this.#names.size);
    return this.#names.get(page)!;
  }

  async #isThere(page: Page, selector: string): Promise<boolean> {
    return (await page.locator(selector).count()) > 0 && (await page.locator(selector).first().isVisible());
  }

  async #type(page: Page): Promise<void> {
    const isEdit = (await page.locator('article .box').count()) > 0;
    const [form, ids] = isEdit ? ['article .box', 'edit'] : ['#compose', 'note'];
    const fields = [`#${ids}-text`, `#${ids}-text`, `#${ids}-alt`, `#${ids}-title`, `#${ids}-tags`];
    const field = this.#random.oneOf(fields);
    if (field.endsWith('title') && (await this.#isThere(page, `${form} [data-action=title]`)))
      await page.locator(`${form} [data-action=title]`).first().click({ timeout: BUTTON_MS });
    if (!(await this.#isThere(page, field)) || !(await page.locator(field).isEditable())) return;
    const before = await page.inputValue(field);
    const between = before === '' ? '' : separatorOf(field);
    if (between === ', ' && before.split(',').length === MAX_TAGS) return;
    const word = this.diary.word('w');
    this.diary.say(`type ${word} into ${field} of window ${this.#nameOf(page)}`);
    await page.focus(field);
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText(between + word);
    // It is read-only while it is sent.
    if (!(await page.inputValue(field)).includes(word)) {
      this.diary.say(`  not taken`);
      return;
    }
    await this.#ensure(page, word);
  }

  /** Adds a word to the title or the description of the feed on its page of settings, and saves it. */
  async #describe(page: Page): Promise<void> {
    if (!(await this.#isThere(page, '#profile form'))) {
      if (this.#random.oneIn(2)) await page.goto(`${this.#address}/settings`).catch(() => {});
      return;
    }
    await this.#takeInSettings(page);
    const field = this.#random.oneOf(['#title', '#description']);
    const word = this.diary.word('t');
    this.diary.say(`set ${word} in ${field} of window ${this.#nameOf(page)}`);
    await page.fill(field, `${await page.inputValue(field)} ${word}`.trim(), { timeout: BUTTON_MS });
    this.#mayBeCut(`POST /${this.#others.feed.name}/details `);
    await page.click('#profile .primary', { timeout: BUTTON_MS });
    if (this.#random.oneIn(3)) return;
    // Not by the toast, which may be of another word.
    const stored = `[name=was_${field.slice(1)}][value*="${word}"]`;
    const isSaved = page.waitForSelector(stored, { state: 'attached', timeout: BUTTON_MS });
    if (await isSaved.then(Boolean, () => false)) this.diary.keep(word);
  }

  /** Adds what others have set meanwhile, of which the page tells. */
  async #takeInSettings(page: Page): Promise<void> {
    const { json } = await this.#others.feed.get();
    for (const [field, stored] of [
      ['#title', json.title],
      ['#description', json.description],
    ] as const) {
      if (!(await this.#isThere(page, `${field}[aria-invalid=true]`))) continue;
      const words = [...(stored as string).split(' '), ...(await page.inputValue(field)).split(' ')];
      const both = [...new Set(words)].join(' ').trim();
      this.diary.say(`  both settings: ${both}`);
      await page.fill(field, both, { timeout: BUTTON_MS });
    }
  }

  async #attach(page: Page): Promise<void> {
    if (!(await this.#isThere(page, '#compose'))) return;
    const word = this.diary.word('p');
    this.diary.say(`attach ${word} in window ${this.#nameOf(page)}`);
    const size = this.#random.oneIn(2) ? 300_000 : 2_000;
    const file = {
      name: `${word}.png`,
      mimeType: 'image/png',
      buffer: picture('png', size, this.diary.did.length),
    };
    await page.focus('#note-text');
    await page.locator('#compose input[type=file]').setInputFiles(file);
    await this.#ensure(page, word);
    const alt = page.locator('#compose .pictures li input').last();
    if (this.#random.oneIn(2) || (await alt.count()) === 0 || !(await alt.isEditable())) return;
    const shown = this.diary.word('w');
    this.diary.say(`  with the alternative text ${shown}`);
    await alt.focus();
    await page.keyboard.insertText(shown);
    if (!(await alt.inputValue()).includes(shown)) return this.diary.say('  not taken');
    await this.#ensure(page, shown);
  }

  async #post(page: Page): Promise<void> {
    if (!(await this.#isThere(page, '#note-text'))) return;
    this.#mayBeCut(`POST /${this.#others.feed.name} `, `GET /${this.#others.feed.name} `);
    this.diary.say(
      `post in window ${this.#nameOf(page)}: ${JSON.stringify(await page.inputValue('#note-text'))}`,
    );
    await this.#press(page);
    if (this.#random.oneIn(3)) return;
    await page.waitForSelector('#compose:not([aria-busy=true])');
  }

  async #menu(page: Page, action: string): Promise<string | undefined> {
    const articles = page.locator('article.note:not([hidden]):not([data-editing])');
    const count = await articles.count();
    if (count === 0) return undefined;
    const id = await articles.nth(this.#random.below(count)).getAttribute('data-id', { timeout: BUTTON_MS });
    // By its id, because the list may change before the click.
    const menu = page.locator(`article.note[data-id="${id}"] .menu`);
    await menu.locator('summary').click({ timeout: BUTTON_MS });
    await menu.locator(`[data-action=${action}]`).click({ timeout: BUTTON_MS });
    return id!;
  }

  async #edit(page: Page): Promise<void> {
    if (await this.#isThere(page, 'article .box')) return;
    this.#mayBeCut(`GET /${this.#others.feed.name}/`);
    const id = await this.#menu(page, 'edit');
    this.diary.say(`edit ${id} in window ${this.#nameOf(page)}`);
    await page.waitForSelector('article .box.open', { timeout: BUTTON_MS }).catch(() => {});
  }

  async #save(page: Page): Promise<void> {
    if (!(await this.#isThere(page, 'article .box .primary'))) return;
    const path = `/api/v1/feeds/${this.#others.feed.name}/notes/`;
    this.#mayBeCut(
      `PUT ${path}`,
      `PUT ${path}`,
      `PATCH ${path}`,
      `GET /${this.#others.feed.name}`,
      `POST /${this.#others.feed.name} `,
    );
    this.diary.say(`save in window ${this.#nameOf(page)}`);
    if (await this.#isThere(page, '[data-action=repost]')) {
      this.diary.say('  anew');
      await page.click('[data-action=repost]', { timeout: BUTTON_MS });
      return;
    }
    await this.#pressSave(page);
    if (this.#random.oneIn(2)) return;
    await page.waitForSelector('article .box:not([aria-busy=true])', { timeout: BUTTON_MS }).catch(() => {});
  }

  /** Presses Save, unless a conflict appears just before. A click of Playwright would wait until the button is enabled, and confirm that conflict. */
  async #pressSave(page: Page): Promise<void> {
    const shown = `document.querySelectorAll('article .box .theirs:not([hidden])').length`;
    const before = await page.evaluate<number>(shown);
    await this.#solve(page);
    await page.evaluate(
      `if (${shown} === ${before}) document.querySelector('article .box .primary')?.click()`,
    );
  }

  /** Adds what somebody else has written to what the person has. */
  async #solve(page: Page): Promise<void> {
    for (const field of ['#edit-text', '#edit-alt', '#edit-title', '#edit-tags']) {
      const theirs = field === '#edit-text' ? '#edit-theirs' : `${field}-theirs`;
      if (!(await this.#isThere(page, theirs)) || !(await page.locator(field).isEditable())) continue;
      const hint = field === '#edit-text' ? '' : await page.locator(theirs).textContent();
      const said =
        field === '#edit-text' ? await page.inputValue(theirs) : /^Theirs: (.*)$/s.exec(hint!)?.[1];
      const separator = separatorOf(field);
      const words = [said ?? '', await page.inputValue(field)].flatMap((text) =>
        text.split(separator.trim() || separator),
      );
      const both = [...new Set(words.map((one) => one.trim()).filter((one) => one !== ''))].join(separator);
      this.diary.say(`  both: ${JSON.stringify(both)}`);
      await page.fill(field, both);
    }
  }

  /** Gives up an edit, or a draft that came back. */
  async #discard(page: Page): Promise<void> {
    const button = this.#random.oneOf([
      'article .box [data-action=close]',
      '.restored [data-action=discard]',
    ]);
    if (!(await this.#isThere(page, button))) return;
    const form = page.locator('form.box', { has: page.locator(button) }).first();
    const id = (await form.getAttribute('data-id')) ?? '';
    this.diary.say(`discard ${id} in window ${this.#nameOf(page)}`);
    const { drafts } = await this.#kept(page);
    const values = await form.evaluate(
      '(form) => JSON.stringify([...form.elements].map(({ value }) => value))',
    );
    const stored = id === '' ? '' : JSON.stringify((await this.#others.feed.get(`/notes/${id}`)).json ?? '');
    const lost = [values, ...drafts.filter(({ note }) => note === id).map(({ text }) => text)].join();
    for (const word of this.diary.wordsIn(lost)) if (!stored.includes(word)) this.diary.mayGo(word);
    await page.locator(button).first().click({ timeout: BUTTON_MS });
  }

  async #delete(page: Page): Promise<void> {
    this.#mayBeCut(
      `DELETE /api/v1/feeds/${this.#others.feed.name}/notes/`,
      `GET /api/v1/feeds/${this.#others.feed.name}/notes/`,
    );
    const id = await this.#menu(page, 'delete');
    if (id === undefined) return;
    this.diary.say(`delete ${id} in window ${this.#nameOf(page)}`);
    if (this.#random.oneIn(2) && (await this.#isThere(page, '.toast button:has-text("Undo")'))) {
      this.diary.say('  undo');
      const undone = await page
        .locator('.toast button:has-text("Undo")')
        .last()
        .click({ timeout: BUTTON_MS })
        .then(
          () => true,
          () => false,
        );
      if (undone) return;
    }
    await this.#others.mayGo(id);
  }

  async #reload(page: Page): Promise<void> {
    this.#mayBeCut(`GET /${this.#others.feed.name}`);
    this.diary.say(`reload window ${this.#nameOf(page)}`);
    await page.reload().catch(() => {});
  }

  async #close(page: Page): Promise<void> {
    this.diary.say(`close window ${this.#nameOf(page)}`);
    this.#windows.splice(this.#windows.indexOf(page), 1);
    // Chromium may hang where its own error page is closed. Other pages are closed as they are, like those of a browser that ends.
    if (page.url().startsWith('chrome-error:')) await page.goto('about:blank').catch(() => {});
    await page.close();
  }

  async #goElsewhere(page: Page): Promise<void> {
    const isBack = this.#random.oneIn(2);
    this.diary.say(`${isBack ? 'back' : 'go'} in window ${this.#nameOf(page)}`);
    if (isBack) await page.goBack({ timeout: BUTTON_MS }).catch(() => {});
    else await page.goto(this.#address + this.#random.oneOf(['', '/settings'])).catch(() => {});
  }

  async #takeBack(page: Page): Promise<void> {
    const button = '#waiting [data-action=take-back]';
    if (!(await this.#isThere(page, button))) return;
    this.diary.say(`take back in window ${this.#nameOf(page)}`);
    await page.locator(button).first().click({ timeout: BUTTON_MS });
  }

  async #send(page: Page): Promise<void> {
    const button = '#waiting [data-action=send]';
    if (!(await this.#isThere(page, button))) return;
    // Sent again, what may be stored already is stored twice.
    if (STORED_BEFORE.test((await page.locator('#waiting').textContent()) ?? '')) return;
    this.#mayBeCut(`POST /${this.#others.feed.name} `);
    this.diary.say(`send in window ${this.#nameOf(page)}`);
    await page.locator(button).first().click({ timeout: BUTTON_MS });
  }

  async #mend(): Promise<void> {
    await this.#proxy.mend();
    this.#isCut = false;
  }

  async #changeNetwork(): Promise<void> {
    if (this.#isCut) {
      this.diary.say('mend');
      return this.#mend();
    }
    this.#isCut = true;
    this.diary.say('cut');
    await this.#proxy.cut();
  }

  /** Cuts the network, in one of three cases, during the next request that begins with one of these texts. */
  #mayBeCut(...requests: readonly string[]): void {
    if (this.#isCut || !this.#random.oneIn(3)) return;
    this.#isCut = true;
    const [where, request] = [
      this.#random.oneOf(['upload', 'answer', 'page'] as const),
      this.#random.oneOf(requests),
    ];
    this.diary.say(`cut in ${where} of ${request}`);
    this.#proxy.cutIn(where, request);
  }

  /** Locks the feed in this browser, which forgets what is not posted. */
  async #lock(page: Page): Promise<void> {
    const button = page.locator('text=Lock in this browser');
    if (this.#others.password === undefined) return;
    if ((await button.count()) === 0)
      return void (await page.goto(`${this.#address}/settings`).catch(() => {}));
    this.diary.say(`lock in window ${this.#nameOf(page)}`);
    const { drafts, waiting } = await this.#kept(page);
    const left = [...drafts, ...waiting].map(({ text }) => text).join();
    for (const word of this.diary.wordsIn(left)) this.diary.mayGo(word);
    await button.click({ timeout: BUTTON_MS });
  }

  get #passwordForm(): string {
    return `form[action="/${this.#others.feed.name}/access"]`;
  }

  /** Types the password where a page asks for it. */
  async #unlock(page: Page): Promise<void> {
    const form = this.#passwordForm;
    if (!(await this.#isThere(page, form))) return;
    this.diary.say(`unlock in window ${this.#nameOf(page)}`);
    await page.fill(`${form} #password`, this.#others.password!, { timeout: BUTTON_MS });
    await page.click(`${form} .primary`, { timeout: BUTTON_MS });
    await page.waitForSelector('#compose', { timeout: BUTTON_MS }).catch(() => {});
  }

  /** Sends what waits, until nothing does, or what was refused is taken back or has no place in the box. */
  async #sendAll(page: Page): Promise<void> {
    const refused = page.locator('#waiting li', { has: page.locator('.error:not(:empty)') }).first();
    const isSent = await eventually(async () => {
      const { waiting } = await this.#kept(page);
      if (waiting.length === 0) return true;
      if (waiting.some(({ isRefused }) => isRefused)) {
        if (!(await this.#isEmpty(page))) return true;
        // A person reads why a post is refused before pressing anything.
        if ((await refused.count()) === 0) return false;
        this.diary.say(`  refused: ${await refused.textContent()}`);
        await refused
          .locator('[data-action=take-back]')
          .click({ timeout: BUTTON_MS })
          .catch(() => {});
        return false;
      }
      const button = page.locator('#waiting [data-action=send]').first();
      await button.click({ timeout: BUTTON_MS }).catch(() => {});
      return false;
    });
    if (!isSent) throw new Error('posts still wait');
  }

  /** Posts what is in the box. */
  async #postDraft(page: Page): Promise<void> {
    let isStored = false;
    let loadedAt = performance.now();
    const isBack = await eventually(async () => {
      if (!(await this.#isEmpty(page))) return true;
      // If the browser reads a draft too slowly, the draft comes back when the page is loaded again.
      if (performance.now() - loadedAt > LATE_MS) {
        loadedAt = performance.now();
        await page.reload();
      }
      // The draft may be of a post whose answer was lost. The page then deletes it, because the note is stored.
      isStored = !(await this.#kept(page)).drafts.some(({ note }) => note === '');
      return isStored;
    });
    if (isStored) return;
    if (!isBack) throw new Error('a draft does not come back');
    const text = await page.inputValue('#note-text');
    this.diary.say(`post the draft ${JSON.stringify(text)}`);
    const isPosted = await eventually(async () => {
      await page.waitForSelector('#compose:not([aria-busy=true])');
      if (await this.#isEmpty(page)) return true;
      // It may have nothing but a title or tags, also after its text was taken out because a note has that.
      if ((await page.inputValue('#note-text')) === '' && (await page.locator(PICTURES).count()) === 0)
        await page.fill('#note-text', 'A text');
      await this.#press(page);
      return this.#isEmpty(page);
    });
    if (!isPosted) throw new Error(`the draft is not posted: ${await page.textContent('#compose')}`);
  }

  /** Whether nothing is in the box for new notes. */
  async #isEmpty(page: Page): Promise<boolean> {
    for (const field of ['#note-text', '#note-title', '#note-tags'])
      if ((await page.inputValue(field)) !== '') return false;
    return (await page.locator(PICTURES).count()) === 0;
  }

  /** Removes the words from the box that a note has already. */
  async #takeOutStored(page: Page): Promise<void> {
    const stored = (await this.#others.texts()).join();
    const wordsIn = (text: string) => text.match(/[wps]\d+[wps]/g) ?? [];
    const isNew = (word: string) => !stored.includes(word);
    this.diary.say('  without what is stored');
    for (const field of ['#note-text', '#note-title', '#note-tags']) {
      if (!(await this.#isThere(page, field))) continue;
      const separator = separatorOf(field);
      const pieces = (await page.inputValue(field)).split(separator);
      const left = pieces.flatMap((piece) => {
        const words = wordsIn(piece);
        return words.every(isNew) ? [piece] : words.filter(isNew);
      });
      await page.fill(field, left.join(separator), { timeout: BUTTON_MS });
    }
    for (const row of (await page.locator(PICTURES).all()).reverse())
      if (!wordsIn((await row.locator('.file').textContent()) ?? '').every(isNew))
        await row.locator('[data-action=remove]').click({ timeout: BUTTON_MS });
  }

  /** Posts, also to a feed that somebody has made since. */
  async #press(page: Page): Promise<void> {
    if (await this.#isThere(page, '.outdated button')) {
      this.diary.say('  to the feed as it is now');
      return page.locator('.outdated button').click({ timeout: BUTTON_MS });
    }
    if (STORED_BEFORE.test((await page.textContent('#compose .error')) ?? ''))
      await this.#takeOutStored(page);
    await page.focus('#note-text');
    await page.keyboard.press('Control+Enter');
  }

  async #saveDraft(page: Page, id: string): Promise<void> {
    this.diary.say(`save the edit of ${id}`);
    if ((await this.#others.feed.get(`/notes/${id}`)).status === 404) {
      await page.click('#toasts :text("Write it anew")');
      const isMoved = await eventually(async () =>
        (await this.#kept(page)).drafts.every(({ note }) => note !== id),
      );
      if (!isMoved) throw new Error('the edit of a note that is gone stays');
      return;
    }
    await page.goto(`${this.#address}/${encodeURIComponent(id)}`);
    await page.click('article summary');
    await page.click('article [data-action=edit]');
    await page.waitForSelector('article .box.open');
    const isSaved = await eventually(async () => {
      if (!(await this.#isThere(page, 'article .box'))) return true;
      if (!(await this.#isThere(page, 'article .box:not([aria-busy=true])'))) return false;
      await this.#pressSave(page);
      return false;
    });
    if (!isSaved) throw new Error('the edit is not saved');
  }
}

/** What stands between two words of a field. */
function separatorOf(field: string): string {
  if (field.endsWith('text')) return '\n\n';
  return field.endsWith('tags') ? ', ' : ' ';
}

/** Rejects if the work takes longer than `ms`. The timer does not keep the process running. */
function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = delay(ms, undefined, { ref: false }).then((): never => {
    throw new Error('too late');
  });
  return Promise.race([work, late]);
}
