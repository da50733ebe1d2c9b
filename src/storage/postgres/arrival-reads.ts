import type { AdmittedFeed } from '../../feeds/feed.ts';
import type { NoteId } from '../../feeds/names.ts';
import {
  type Arrival,
  type Arrivals,
  BEFORE_ALL,
  firstDateAfter,
  guessedPlace,
  lastArrivals,
  maxExamined,
} from '../arrivals.ts';
import type { Database } from './database.ts';
import { isLive, OF_FEED } from './note-rows.ts';
import { statement } from './transaction.ts';

/**
 * When a note arrived. Each transaction locks its feed, so notes become visible in this order. Notes from before the column existed
 * have only their date.
 */
const ARRIVED = 'coalesce(arrived_at, created_at)';
const ARRIVAL = `${ARRIVED} AS at, id, least(created_at, ${ARRIVED}) AS date`;
const AFTER = statement<Arrival>('arrivals')`
  SELECT ${ARRIVAL} FROM notes WHERE feed ${OF_FEED} AND created_at > $2 AND (${ARRIVED}, id) > ($3, $4) AND ${isLive('$5')}
  ORDER BY created_at DESC, id DESC, type DESC LIMIT $6`;
const PLACE = statement<Arrival>('arrival')`
  SELECT ${ARRIVAL} FROM notes WHERE feed ${OF_FEED} AND id = $2 ORDER BY type LIMIT 1`;

/** See `Storage.arrivals`. */
export async function findArrivals(
  database: Database,
  { key }: AdmittedFeed,
  since: Arrival | NoteId | undefined,
  limit: number,
): Promise<Arrivals | undefined> {
  const place = typeof since === 'string' ? await placeOf(database, key, since) : (since ?? BEFORE_ALL);
  if (!place) return undefined;
  const values = [firstDateAfter(place), place.at, place.id, Date.now(), maxExamined(since)];
  return lastArrivals(await database.read(AFTER, [key, ...values]), place, limit);
}

async function placeOf(database: Database, key: string, id: NoteId): Promise<Arrival | undefined> {
  const [found] = await database.read(PLACE, [key, id]);
  return found ?? guessedPlace(id);
}
