/** The way of real clients from a 401 to a posted note, by their own helpers: discovery, registration, consent, tokens. */
import t from 'tap';
import { CLIENTS, type OAuthMemory, oauthMemory } from '../support/mcp-clients.ts';
import { ask, start } from '../support/service.ts';

const PASSWORD = 'let us in';

for (const [generation, connect] of Object.entries(CLIENTS)) {
  t.test(`${generation} gets in by OAuth, and stays in by refreshing`, async (t) => {
    const { url } = await start(t, { SERVICE_PASSWORD: PASSWORD });
    const memory = oauthMemory();
    await t.rejects(connect(url, {}, memory), 'it leads its user to the page first');
    t.match(memory.clientInformation(), { client_id: String });

    const client = await connect(url, {}, memory, await answerFor(memory));
    const feed = 'by-oauth';
    t.notOk((await client.call('post_note', { feed, markdown: '# Hello' })).isError);
    await client.close();

    const first = memory.tokens()!;
    memory.saveTokens({ ...first, access_token: 'over' });
    const again = await connect(url, {}, memory);
    t.match(await again.call('list_notes', { feed }), { value: { notes: [{ title: 'Hello' }] } });
    const second = memory.tokens()!;
    t.not(second.refresh_token, first.refresh_token, 'each refresh token works once');
    await again.close();

    memory.saveTokens({ ...first, access_token: 'over' });
    await t.rejects(connect(url, {}, memory), 'one used twice is refused');
    memory.saveTokens({ ...second, access_token: 'over' });
    await t.rejects(connect(url, {}, memory), 'and with it its family');
    const anew = await connect(url, {}, memory, await answerFor(memory));
    t.notOk((await anew.call('delete_feed', { feed })).isError);
    await anew.close();
  });
}

/** Does what a person does in a browser: opens the page, types the password, sends the form. */
async function answerFor({ opened }: OAuthMemory): Promise<URLSearchParams> {
  const page = await ask(opened!.href);
  const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(page.text) ?? [];
  const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const fields = hidden.map(([, name = '', value = '']): [string, string] => [name, unescaped(value)]);
  const reply = await ask(new URL(action, opened).href, {
    method: 'POST',
    body: new URLSearchParams([...fields, ['password', PASSWORD]]),
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  return new URL(reply.headers.get('location')!).searchParams;
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
}
