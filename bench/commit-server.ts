/**
 * A server that does nothing but group commits: uWebSockets.js, and each POST answered once its body is committed with
 * all that came while the last commit ran. Called with the place of the database, as JSON.
 */
import { type HttpResponse, uws } from '../src/http/uws.ts';
import { type CommitPlace, openCommits } from './commits.ts';

interface Posted {
  readonly res: HttpResponse;
  readonly body: Buffer;
}

const commits = await openCommits(JSON.parse(process.argv[2]!) as CommitPlace);
const gone = new WeakSet<HttpResponse>();
let waiting: Posted[] = [];
let isCommitting = false;

async function commitAll(): Promise<void> {
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    await commits.commit(group.map(({ body }) => body));
    for (const { res } of group) if (!gone.has(res)) res.cork(() => res.writeStatus('201 Created').end('{}'));
  }
  isCommitting = false;
}

const app = uws.App();
app.post('/*', (res) => {
  const pieces: Buffer[] = [];
  res.onAborted(() => gone.add(res));
  res.onData((piece, last) => {
    pieces.push(Buffer.from(piece.slice(0)));
    if (!last) return;
    waiting.push({ res, body: Buffer.concat(pieces) });
    if (!isCommitting) setImmediate(commitAll);
    isCommitting = true;
  });
});
app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
  if (!socket) throw new Error('cannot listen');
  console.log(JSON.stringify({ url: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` }));
});
