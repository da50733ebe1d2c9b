/**
 * The baseline: uWebSockets.js and nothing else. `GET /<n>` answers the n-th of the recorded answers in the file
 * that its first argument names; a POST writes a note into the folder of its second with one fsync of the file and
 * one of the folder, one note at a time. Synchronous calls, because nothing that does one at a time is faster. A POST
 * to `/receive` only takes the bytes.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type HttpResponse, uws } from '../src/http/uws.ts';

/** An answer of the service, to be given again. */
export interface RecordedAnswer {
  readonly status: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyFile: string;
}

const [answersFile, folder = ''] = process.argv.slice(2);
if (answersFile) serve(JSON.parse(readFileSync(answersFile, 'utf8')));

function serve(answers: readonly RecordedAnswer[]): void {
  const app = uws.App();
  answers.forEach(({ status, headers, bodyFile }, index) => {
    const body = readFileSync(bodyFile);
    app.get(`/${index}`, (res) => {
      res.cork(() => {
        res.writeStatus(status);
        for (const [name, value] of headers) res.writeHeader(name, value);
        if (status.startsWith('304')) res.endWithoutBody();
        else sendWhole(res, body);
      });
    });
  });
  app.post('/receive', (res) => {
    res.onAborted(() => {});
    res.onData((_, last) => {
      if (last) res.cork(() => res.writeStatus('201 Created').end('{}'));
    });
  });
  const store = oneAtATime(folder);
  app.post('/*', (res) => {
    const pieces: Buffer[] = [];
    res.onAborted(() => {});
    res.onData((piece, last) => {
      pieces.push(Buffer.from(piece.slice(0)));
      if (!last) return;
      store(Buffer.concat(pieces));
      res.cork(() => res.writeStatus('201 Created').end('{}'));
    });
  });
  app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (!socket) throw new Error('cannot listen');
    process.stdout.write(
      `${JSON.stringify({ url: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` })}\n`,
    );
  });
}

/** Sends the body in one piece; what the socket does not take at once follows when it can. */
function sendWhole(res: HttpResponse, body: Buffer): void {
  res.onAborted(() => {});
  const [, done] = res.tryEnd(body, body.length);
  if (done) return;
  res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[1]);
}

/** Stores notes in a folder, each durable before the next one is begun. */
function oneAtATime(dir: string): (bytes: Buffer) => void {
  const folderFd = openSync(dir, 'r');
  let count = 0;
  return (bytes) => {
    const path = join(dir, `${count++}.md`);
    const fd = openSync(`${path}.tmp`, 'w');
    writeSync(fd, bytes);
    fsyncSync(fd);
    closeSync(fd);
    renameSync(`${path}.tmp`, path);
    fsyncSync(folderFd);
  };
}
