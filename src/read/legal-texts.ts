import { readFile, stat } from 'node:fs/promises';
import { Refusal } from '../refusals.ts';
import { type Html, trustedHtml } from '../web/html.ts';
import type { LegalPage } from '../web/site.ts';
import { unrendered } from './note-html.ts';
import { placedHtml, type Rendered } from './note-text.ts';
import type { Renderer } from './renderer.ts';

const MAX_BYTES = 256 * 1024;

/** A legal page, or the notice on the start page. */
type OperatorText = LegalPage | 'notice';

interface Kept {
  readonly version: string;
  readonly rendered: Promise<Rendered>;
}

/** The operator's texts, rendered. Each is read again if its file has changed. */
export class LegalTexts {
  readonly #files: Readonly<Partial<Record<OperatorText, string | undefined>>>;
  readonly #renderer: Pick<Renderer, 'text'>;
  readonly #kept = new Map<OperatorText, Kept>();

  /** @param files paths of the texts; a text without one is not shown */
  constructor(
    files: Readonly<Partial<Record<OperatorText, string | undefined>>>,
    renderer: Pick<Renderer, 'text'>,
  ) {
    this.#files = files;
    this.#renderer = renderer;
  }

  /**
   * The text, with its headings below `level`; undefined if the instance has none.
   * @param base address of the instance, without a trailing slash
   * @throws Refusal `store_unavailable` if its file cannot be read or is too large
   */
  async html(name: OperatorText, level: number, base: string): Promise<Html | undefined> {
    const file = this.#files[name];
    if (file === undefined) return undefined;
    try {
      const rendered = await this.#current(name, file);
      return trustedHtml(placedHtml(rendered, `${base}/`, { level, sizes: new Map() }));
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      throw new Refusal('store_unavailable', 'This text cannot be shown now.', { cause });
    }
  }

  async #current(name: OperatorText, file: string): Promise<Rendered> {
    const { size, mtimeMs, ino } = await stat(file);
    if (size > MAX_BYTES) throw new Error(`the file of ${name} is larger than ${MAX_BYTES} bytes`);
    const version = [size, mtimeMs, ino].join(' ');
    const kept = this.#kept.get(name);
    if (kept?.version === version) return kept.rendered;
    const rendered = this.#read(name, file);
    this.#kept.set(name, { version, rendered });
    rendered.catch(() => this.#kept.delete(name));
    return rendered;
  }

  async #read(name: OperatorText, file: string): Promise<Rendered> {
    const content = await readFile(file);
    const rendered = await this.#renderer.text(content, file);
    if (rendered === undefined) this.#kept.delete(name);
    return rendered ?? unrendered(content);
  }
}
