import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import * as undici from 'undici';
import { program } from './installed.ts';

/** Programs with which people post forms, each in the way that its manual shows. */

const run = promisify(execFile);
const OPTIONS = { timeout: 300_000 };

/** A text with pictures, as a client is told of it. */
export interface ClientForm {
  readonly text: string;
  /** A field is what a form's text box makes; a file keeps its bytes. */
  readonly textAs: 'field' | 'file';
  readonly pictures: readonly ClientPicture[];
}

export interface ClientPicture {
  readonly name: string;
  readonly type: string;
  readonly alt: string;
  readonly bytes: Buffer<ArrayBuffer>;
}

/** Posts a form and gives the body of the answer. */
export type SendForm = (url: string, form: ClientForm) => Promise<string>;

/** `curl -F`, with files of the pictures' names on the disk. */
export const sendWithCurl: SendForm = (url, { text, textAs, pictures }) =>
  inFolder(async (folder) => {
    const note = join(folder, 'note.md');
    await writeFile(note, text);
    const parts =
      textAs === 'file' ? ['-F', `text=@${note};type=text/markdown`] : ['--form-string', `text=${text}`];
    for (const { name, type, alt, bytes } of pictures) {
      const path = join(folder, name);
      await writeFile(path, bytes);
      parts.push('-F', `file=@"${path.replace(/["\\]/g, '\\$&')}";type=${type}`);
      parts.push('--form-string', `alt.${name}=${alt}`);
    }
    return (await run(program('curl'), ['-sS', ...parts, url], OPTIONS)).stdout;
  });

/** `requests.post` with `data` and `files`. */
export const sendWithRequests: SendForm = (url, form) =>
  inFolder(async (folder) => {
    const file = join(folder, 'form.json');
    await writeFile(file, jsonOf(form));
    return (await run(program('python3'), ['-c', REQUESTS, url, file], OPTIONS)).stdout;
  });

const REQUESTS = `
import base64, json, requests, sys
url, path = sys.argv[1:]
form = json.load(open(path, encoding='utf-8'))
files = [('file', (p['name'], base64.b64decode(p['bytes']), p['type'])) for p in form['pictures']]
data = {'alt.' + p['name']: p['alt'] for p in form['pictures']}
if form['textAs'] == 'file':
    files.append(('text', ('note.md', form['text'].encode('utf-8'), 'text/markdown')))
else:
    data['text'] = form['text']
print(requests.post(url, data=data, files=files).text)
`;

/** The FormData of this runtime, by its own fetch. */
export const sendWithFetch: SendForm = async (url, form) => {
  const data = filled(new FormData(), form);
  return (await fetch(url, { method: 'POST', body: data })).text();
};

/** The FormData of the undici package, by its fetch. */
export const sendWithUndici: SendForm = async (url, form) => {
  const data = filled(new undici.FormData(), form);
  return (await undici.fetch(url, { method: 'POST', body: data })).text();
};

function filled<Data extends FormData | undici.FormData>(
  data: Data,
  { text, textAs, pictures }: ClientForm,
): Data {
  if (textAs === 'file') data.append('text', new Blob([text], { type: 'text/markdown' }), 'note.md');
  else data.append('text', text);
  for (const { name, type, alt, bytes } of pictures) {
    data.append('file', new Blob([bytes], { type }), name);
    data.append(`alt.${name}`, alt);
  }
  return data;
}

/**
 * The FormData of a page in Chromium, by its fetch. The page and the service have one origin for it: a server that
 * passes the bytes of the post on. The answer is what the page has shown.
 */
export const sendWithChromium: SendForm = (url, form) =>
  inFolder(async (folder) => {
    const shown = Promise.withResolvers<void>();
    const server = createServer(async (request, response) => {
      if (request.url === '/post') response.end(await passedOn(request, url));
      else if (request.url === '/shown') {
        response.end();
        shown.resolve();
      } else if (request.url === '/hold') {
        await shown.promise;
        response.end();
      } else response.setHeader('content-type', 'text/html; charset=utf-8').end(pageOf(form));
    }).listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const flags = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--dump-dom',
        `--user-data-dir=${folder}`,
      ];
      const { stdout } = await run(program('chromium'), [...flags, page], OPTIONS);
      const answer = /<pre>(.*)<\/pre>/s.exec(stdout)?.[1];
      if (answer === undefined) throw new Error(`the page has shown nothing: ${stdout}`);
      return answer;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

async function passedOn(request: IncomingMessage, url: string): Promise<string> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(await buffer(request)) })).text();
}

/** A page is dumped when all it needs has come: its picture comes when the answer is shown. */
function pageOf(form: ClientForm): string {
  return `<!doctype html>
<script type="application/json">${jsonOf(form).replaceAll('<', '\\u003c')}</script>
<pre></pre>
<img src="/hold">
<script>
const form = JSON.parse(document.querySelector('script').textContent);
const data = new FormData();
if (form.textAs === 'file') data.append('text', new File([form.text], 'note.md', { type: 'text/markdown' }));
else data.append('text', form.text);
for (const { name, type, alt, bytes } of form.pictures) {
  const file = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  data.append('file', new File([file], name, { type }));
  data.append('alt.' + name, alt);
}
fetch('/post', { method: 'POST', body: data })
  .then((response) => response.text(), String)
  .then((answer) => {
    document.querySelector('pre').textContent = answer;
    return fetch('/shown');
  });
</script>`;
}

function jsonOf({ pictures, ...form }: ClientForm): string {
  const encoded = pictures.map((picture) => ({ ...picture, bytes: picture.bytes.toString('base64') }));
  return JSON.stringify({ ...form, pictures: encoded });
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'form-client-'));
  try {
    return await use(folder);
  } finally {
    // A browser's processes still write to its profile for a moment.
    await rm(folder, { recursive: true, maxRetries: 20 });
  }
}
