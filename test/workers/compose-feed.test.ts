import { valueSymbol } from 'piscina';
import t from 'tap';
import composeFeed, { type ComposedFeed } from '../../workers/compose-feed.ts';
import { feedDocument, markdownNote, pictureNote } from '../support/view-notes.ts';

/** Three notes, the last of them rendered, and a picture. */
const document = feedDocument([
  { ...markdownNote('# One\n\n![x](x.png)'), rendered: undefined },
  pictureNote(),
  { ...markdownNote('*two*'), rendered: undefined },
  markdownNote('three'),
]);
const at = new Int32Array(new SharedArrayBuffer(4));
const run = () => {
  const result = composeFeed({ task: { view: 'json-feed', document }, at });
  return ((result as { [valueSymbol]?: unknown })[valueSymbol] ?? result) as ComposedFeed;
};

t.test('renders what is not rendered, and composes all', async (t) => {
  const { rendered, composed } = run();
  t.strictSame(
    rendered.map(({ excerpt }) => excerpt),
    ['One x', 'two'],
  );
  const { items } = JSON.parse(Buffer.from(composed!.bytes).toString());
  t.match(items[0].content_html, /src="https:\/\/notes\.example\/r\/[^/]+\/x\.png"/);
  t.equal(items[2].content_html, '<p><em>two</em></p>\n');
  t.equal(items[3].content_text, 'three');
  t.equal(at[0], 2, 'says which note it was at');
});

t.test('leaves to another task what it has no time for', async (t) => {
  let user = 0;
  const threadCpuUsage = () => {
    user += 1e6;
    return { user, system: 0 };
  };
  t.intercept(process, 'threadCpuUsage', { value: threadCpuUsage });
  const { rendered, composed } = run();
  t.equal(rendered.length, 1);
  t.equal(composed, undefined);
  t.equal(at[0], 0);
});
