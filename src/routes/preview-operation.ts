import { json } from '../http/answer.ts';
import type { Reader } from '../read/reader.ts';
import { previewText } from '../requests/preview.ts';
import type { DescribedOperation } from './operation.ts';
import { JSON_BODY, jsonAnswer, NAMED } from './operation-docs.ts';

/** Shows a text before it is posted. */
export function previewOperation({ reader }: { readonly reader: Reader }): DescribedOperation {
  return {
    id: 'preview',
    method: 'POST',
    path: '/api/v1/feeds/{feed}/preview',
    access: 'previewer',
    docs: {
      tag: 'Notes',
      summary: 'Render a text without posting it',
      description:
        'The HTML that pages would show for a note of this text. Nothing is stored, and the feed need not exist. It has a ' +
        'rate limit of its own.',
      body: 'PreviewText',
      answers: { 200: jsonAnswer('Preview', 'The text as HTML.') },
      refusals: [
        ...NAMED.filter((code) => code !== 'not_found'),
        ...JSON_BODY,
        'foreign_form',
        'rate_limited',
      ],
    },
    async handle(exchange, { feed, base }) {
      return json(200, { html: await reader.preview(await previewText(exchange), base, feed) });
    },
  };
}
