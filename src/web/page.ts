import { type Answer, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { escapeHtml } from '../read/html.ts';

/** The header fields of every page. */
export const PAGE_FIELDS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  ...NOSNIFF,
};

const PRIVATE = headers({ ...PAGE_FIELDS, 'Cache-Control': 'private, no-store' });

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

/** The answer that shows a page to the one who asked. */
export function pageAnswer(body: Uint8Array): Answer {
  return { status: 200, headers: PRIVATE, body };
}
