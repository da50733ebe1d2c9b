import type { Database } from './database.ts';
import { statement } from './transaction.ts';

const USE = statement<{ turn: number }>('use_token')`
  INSERT INTO token_series AS known (id, turn, until)
  VALUES ($1, CASE WHEN $2::integer = 0 THEN 1 ELSE -1 END, $3)
  ON CONFLICT (id) DO UPDATE SET turn = CASE WHEN known.turn = $2::integer THEN $2::integer + 1 ELSE -1 END
  RETURNING turn`;

/** Another container may be using a series: then it is not to be forgotten. */
const FORGET = statement('forget_series')`
  DELETE FROM token_series
  WHERE id IN (SELECT id FROM token_series WHERE until <= $1 FOR UPDATE SKIP LOCKED)`;

/** See `TokenSeries`: each is a row that containers share, and that is locked when a token is used. */
export function useToken(
  database: Database,
  { series, place, until }: { readonly series: string; readonly place: number; readonly until: number },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    transaction.send(FORGET, [Date.now()]);
    const [row] = await transaction.run(USE, [series, place, until]);
    return row!.turn > 0;
  });
}
