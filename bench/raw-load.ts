import { once } from 'node:events';
import { connect } from 'node:net';

/** One URL to load. */
export interface Order {
  readonly url: string;
  readonly connections: number;
  /** Seconds; ignored with `amount`. */
  readonly duration?: number;
  /** Requests in all. */
  readonly amount?: number;
  readonly headers?: Record<string, string>;
  /** Reads large answers, because autocannon is too slow for them. Works only with GET and `duration`. */
  readonly raw?: boolean;
  /** File whose bytes are posted; without it the request is a GET. */
  readonly bodyFile?: string;
  /** File with a JSON list of paths to read in turn, instead of the URL's own. */
  readonly pathsFile?: string;
}

/** What came of it. */
export interface Loaded {
  /** Answers with a status of 200 to 399. */
  readonly answers: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Loads one URL without looking at the answers but for their length. Autocannon spends 3 ms on an answer of 200 KB,
 * which is 60 times what the server does, so the server would hardly run while it is measured.
 */
export async function rawLoad({ url, connections, duration = 1, headers = {} }: Order): Promise<Loaded> {
  const { pathname, search, hostname, port, host } = new URL(url);
  const fields = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${pathname}${search} HTTP/1.1\r\n${fields.join('')}\r\n`;
  const waits: number[] = [];
  const end = performance.now() + duration * 1000;
  const read = async () => {
    const socket = connect(Number(port), hostname);
    let start = 0;
    let left = 0;
    const ask = () => {
      start = performance.now();
      left = 0;
      socket.write(request);
    };
    socket.on('data', (piece) => {
      left = (left || answerBytes(piece)) - piece.length;
      if (left > 0) return;
      waits.push(performance.now() - start);
      if (performance.now() < end) ask();
      else socket.destroy();
    });
    ask();
    await once(socket, 'close');
  };
  await Promise.all(Array.from({ length: connections }, read));
  waits.sort((a, b) => a - b);
  const at = (part: number) => Number((waits[Math.floor(waits.length * part)] ?? Number.NaN).toFixed(1));
  return { answers: waits.length, perSecond: waits.length / duration, p50: at(0.5), p99: at(0.99) };
}

/** The bytes of an answer, head included, told from its first piece. */
function answerBytes(piece: Buffer): number {
  const head = piece.toString('latin1', 0, piece.indexOf('\r\n\r\n') + 4);
  const length = /^content-length: (\d+)\r$/im.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 2') || !length) throw new Error(`cannot measure: ${head.split('\r\n')[0]}`);
  return head.length + Number(length);
}
