/** Several header lines of one name (RFC 9110 §5.3), through the whole service. */
import t from 'tap';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';

type Lines = readonly string[];

t.test('several lines of a field', async (t) => {
  const service = await start(t);
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const send = async (startLine: string, lines: Lines, body = '') => {
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    const head = [`${startLine} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, ...length, ...lines];
    connection.send(`${head.join('\r\n')}\r\n\r\n${body}`);
    const response = await connection.response();
    const text = response.body.toString();
    return { ...response, code: response.status >= 400 ? JSON.parse(text).code : undefined };
  };
  const note = (await post(`${service.url}/robin`, 'A text that is worth its compression. '.repeat(50))).json;
  const rss = `GET ${new URL(note.read_url).pathname}`;
  const file = rss.replace('feed.xml', note.file);

  t.test('validators are one list, in the first answer and from the cache', async (t) => {
    const { etag } = (await send(rss, [])).headers;
    const lists: [lines: Lines, status: number][] = [
      [['If-None-Match: "a"', `If-None-Match: ${etag}`], 304],
      [[`If-None-Match: ${etag}`, 'If-None-Match: "a"'], 304],
      [['If-None-Match:', `if-none-match: W/${etag}`], 304],
      [['If-None-Match: "a"', 'If-None-Match: "b"'], 200],
      [['If-None-Match:', 'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT'], 200],
    ];
    for (const path of [rss, `${rss}?tag=none`])
      for (const [lines, status] of path === rss ? lists : lists.slice(3))
        t.equal((await send(path, lines)).status, status, lines.join(' and '));
  });

  t.test('so are codings', async (t) => {
    const coding = async (...values: string[]) =>
      (
        await send(
          rss,
          values.map((value) => `Accept-Encoding: ${value}`),
        )
      ).headers['content-encoding'];
    t.equal(await coding('deflate', 'gzip'), 'gzip');
    t.equal(await coding('gzip', 'br'), 'br');
    t.equal(await coding('gzip', 'gzip;q=0'), undefined);
  });

  t.test('two dates, or two ranges, are none', async (t) => {
    const date = 'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT';
    t.equal((await send(rss, [date, date])).status, 200);
    t.equal((await send(file, ['Range: bytes=0-1', 'Range: bytes=2-3'])).status, 200);
  });

  t.test('tags are one list', async (t) => {
    const type = 'Content-Type: text/markdown';
    t.equal((await send('POST /robin', [type, 'X-Note-Tags: a,b', 'X-Note-Tags: C'], 'text')).status, 201);
    const { notes } = (await ask(`${service.url}/api/v1/feeds/robin/notes`)).json;
    t.same(notes[0].tags, ['a', 'b', 'c']);
  });

  t.test('what has one value is refused, and nothing is stored', async (t) => {
    const type = 'Content-Type: text/markdown';
    for (const lines of [
      [type, type],
      [type, 'X-Note-Title: a', 'X-Note-Title: a'],
      [type, 'X-Feed-Password: a', 'X-Feed-Password: b'],
      [type, 'Authorization: Bearer a', 'Authorization: Bearer a'],
      [type, 'X-Read-Id: wrens', 'X-Read-Id:'],
      [type, 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'],
      [type, `Host: 127.0.0.1:${service.port}`],
    ]) {
      const { status, code } = await send('POST /wren', lines, 'text');
      t.same([status, code], [400, 'invalid_request'], lines.join(', '));
    }
    t.same((await ask(`${service.url}/api/v1/feeds/wren/notes`)).json.notes, []);
  });

  t.test('a host that is named twice is refused, also from the cache', async (t) => {
    t.equal((await send(rss, [])).status, 200);
    t.equal((await send(rss, ['Host: other.example'])).code, 'invalid_request');
  });
});
