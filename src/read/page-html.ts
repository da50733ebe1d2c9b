import type { PixelSize } from '../feeds/picture-bytes.ts';

/** What changes in a note's HTML. Only tags contain `<`, and the order of attributes is fixed. */
const CHANGED = /<(?:img(?: src="([^"]*)")?|a href="|pre>|(\/?)table>|(\/?)h([1-6])>|li>(?=(?:<p>)?[☐☑]))/g;
const DEEPEST_HEADING = 6;

/**
 * Adapts rendered HTML to a page: `rel` on links, lazy pictures with width and height, headings shifted by `level`, wide
 * tables and code in a focusable box that scrolls.
 * @param level of the heading above the note
 * @param sizes by the address of the picture in the HTML
 */
export function pageHtml(html: string, level: number, sizes: ReadonlyMap<string, PixelSize>): string {
  const outline: number[] = [];
  return html.replaceAll(CHANGED, (tag, source: string | undefined, tableEnds, headingEnds, heading) => {
    if (tag.startsWith('<img')) return picture(tag, source === undefined ? undefined : sizes.get(source));
    if (tag === '<a href="') return '<a rel="noreferrer noopener nofollow" href="';
    if (tag === '<pre>') return '<pre tabindex="0">';
    if (tag === '<li>') return '<li class="task">';
    if (heading === undefined)
      return tableEnds
        ? '</table></div>'
        : '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>';
    if (!headingEnds) {
      // No level is skipped, because screen readers navigate by them.
      while (outline.length > 0 && outline.at(-1)! >= Number(heading)) outline.pop();
      outline.push(Number(heading));
    }
    return `<${headingEnds}h${Math.min(level + outline.length, DEEPEST_HEADING)}>`;
  });
}

function picture(tag: string, size: PixelSize | undefined): string {
  const place = size === undefined ? '' : ` width="${size.width}" height="${size.height}"`;
  return `${tag}${place} loading="lazy" decoding="async" referrerpolicy="no-referrer"`;
}
