/** Where texts are rendered, and how often. */
import t from 'tap';
import { exactly } from '../support/exact-request.ts';
import { renderedTasks } from '../support/rendering.ts';
import { post, start } from '../support/service.ts';

const service = await start(t, { SERVICE_METRICS: '1' });
const { url } = service;

t.test(
  'a short text that would hold the event loop is rendered on a thread, whatever hides it',
  async (t) => {
    for (const [n, hidden] of ['\x01', '\0', '\ufffe', '\uffff'].entries()) {
      // Three lines of these take no time; the parser needs twice the time for each more.
      const { json } = await post(`${url}/nested-${n}`, `${hidden}>>>a\n${hidden}>>a\n${hidden}>a`);
      const before = await renderedTasks(service);
      const { text } = await exactly(json.read_url);
      t.match(text, '&lt;blockquote&gt;');
      t.equal(await renderedTasks(service), before + 1, encodeURI(hidden));
    }
  },
);

t.test('a text is rendered once, whatever the Host of its readers', async (t) => {
  const { json } = await post(`${url}/hosts`, `[a link](x)\n\n![a picture](y.png)\n\n${'word '.repeat(100)}`);
  const before = await renderedTasks(service);
  for (let i = 0; i < 20; i++) {
    const { text } = await exactly(json.read_url, { headers: { host: `host-${i}.example` } });
    t.match(text, `&lt;a href="http://host-${i}.example/r/`);
    t.match(text, `&lt;img src="http://host-${i}.example/r/`);
  }
  t.equal(await renderedTasks(service), before + 1);
});
