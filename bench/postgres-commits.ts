/**
 * A bare loop that does nothing but commit notes in groups to a PostgreSQL database. Called with JSON: the address, how
 * many notes of 1 KB are in a group, and for how long; prints the notes a second.
 */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { byteaArray } from '../src/storage/postgres/bytea-array.ts';

export interface PostgresGroups {
  readonly url: string;
  readonly group: number;
  readonly seconds: number;
}

const { url, group, seconds } = JSON.parse(process.argv[2]!) as PostgresGroups;
const client = new Client(url);
await client.connect();
await client.query('CREATE TABLE IF NOT EXISTS bare (id text PRIMARY KEY, content bytea NOT NULL)');
const text = 'INSERT INTO bare (id, content) SELECT * FROM unnest($1::text[], $2::bytea[])';
const contents = Array.from({ length: group }, () => Buffer.alloc(1024, 'x'));
const begun = performance.now();
let count = 0;
for (; performance.now() - begun < seconds * 1000; count += group) {
  const ids = contents.map(() => `${Date.now()}-${randomUUID()}`);
  await client.query({ name: 'insert', text, values: [ids, byteaArray(contents)] });
}
const perSecond = (count / (performance.now() - begun)) * 1000;
await client.end();
console.log(JSON.stringify({ perSecond }));
