/**
 * A process of its own that opens connections, lets each get one answer and keeps them all open and idle. Prints a
 * line when all are there; ends when its standard input does.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

const AT_ONCE = 200;

const [port, path, count] = process.argv.slice(2);

async function open(): Promise<void> {
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(socket, 'data');
}

for (let opened = 0; opened < Number(count); opened += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, Number(count) - opened) }, open));
}
process.stdout.write('open\n');
process.stdin.on('end', () => process.exit(0)).resume();
