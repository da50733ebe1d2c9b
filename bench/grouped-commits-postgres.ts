/**
 * Bare loops that do nothing but commit notes in groups to a PostgreSQL database, each on a connection of its own.
 * Called with JSON: the address, how many notes of 1 KB are in a group, how many loops, and for how long; prints the
 * notes a second.
 */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { byteaArray } from '../src/storage/postgres/bytea-array.ts';

export interface PostgresGroupOrder {
  readonly url: string;
  readonly group: number;
  readonly loops: number;
  readonly seconds: number;
}

const { url, group, loops, seconds } = JSON.parse(process.argv[2]!) as PostgresGroupOrder;
const clients = await Promise.all(Array.from({ length: loops }, connected));
await clients[0]!.query('CREATE TABLE IF NOT EXISTS bare (id text PRIMARY KEY, content bytea NOT NULL)');
const contents = Array.from({ length: group }, () => Buffer.alloc(1024, 'x'));
const begun = performance.now();
const counts = await Promise.all(clients.map(commit));
const count = counts.reduce((sum, one) => sum + one, 0);
const perSecond = (count / (performance.now() - begun)) * 1000;
await Promise.all(clients.map((client) => client.end()));
console.log(JSON.stringify({ perSecond }));

async function connected(): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  return client;
}

async function commit(client: Client): Promise<number> {
  const text = 'INSERT INTO bare (id, content) SELECT * FROM unnest($1::text[], $2::bytea[])';
  let done = 0;
  for (; performance.now() - begun < seconds * 1000; done += group) {
    const ids = contents.map(() => `${Date.now()}-${randomUUID()}`);
    await client.query({ name: 'insert', text, values: [ids, byteaArray(contents)] });
  }
  return done;
}
