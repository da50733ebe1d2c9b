import { NOSNIFF } from '../http/answer.ts';
import { escapeHtml } from '../read/html.ts';

/** The header fields of every page. */
export const PAGE_FIELDS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  ...NOSNIFF,
};

/** A whole page. `content` is HTML. */
export function page(title: string, content: string): Buffer {
  const shown = escapeHtml(title);
  return Buffer.from(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown}</title>
<h1>${shown}</h1>
${content}
</html>
`);
}
