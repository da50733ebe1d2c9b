import { raw, html as tag } from 'hono/html';

/** HTML that is safe to send: made by `html` or `trustedHtml`, by nothing else. */
export type Html = ReturnType<typeof raw>;

/** What may stand in a template: texts and numbers are escaped, `undefined` and `false` are nothing. */
export type Child = Html | string | number | false | undefined | readonly Child[];

/**
 * The one way to make HTML: a tagged template that escapes every value, as content and in a quoted attribute. A value
 * never stands in an unquoted attribute, an event handler, a `<script>` or a `<style>`. Templates write characters beyond Latin-1
 * as references (`&rarr;`), because one of them doubles the memory of a page and the time to encode it.
 */
// hono's tag returns a promise only if a value is one, which `Child` excludes.
export const html = tag as (strings: TemplateStringsArray, ...children: readonly Child[]) => Html;

/**
 * Attributes of what somebody wrote or writes: neither its direction nor its language is that of the page. Without the latter, a screen
 * reader would say a German note with its English voice.
 */
export const WRITTEN = html`lang="" dir="auto"`;

/** HTML of the renderer, which escapes by construction (`read/note-html.ts`); never anything else. */
export function trustedHtml(rendered: string): Html {
  return raw(rendered);
}
