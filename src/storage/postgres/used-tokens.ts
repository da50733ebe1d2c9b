import type { TokenSeries } from '../storage.ts';
import type { Database } from './database.ts';
import { statement } from './statement.ts';

const USE = statement<{ turn: number }>(
  'use_token',
  `INSERT INTO token_series AS known (id, turn, until)
   VALUES ($1, CASE WHEN $2::integer = 0 THEN 1 ELSE -1 END, $3)
   ON CONFLICT (id) DO UPDATE SET turn = CASE WHEN known.turn = $2::integer THEN $2::integer + 1 ELSE -1 END
   RETURNING turn`,
);

/** Another container may be using a series: then it is not to be forgotten. */
const FORGET = statement(
  'forget_series',
  `DELETE FROM token_series WHERE id IN (
     SELECT id FROM token_series WHERE until <= $1 FOR UPDATE SKIP LOCKED
   )`,
);

/** Series of tokens that containers share: each is a row, which whoever uses a token locks. */
export class UsedTokens implements TokenSeries {
  readonly #database: Pick<Database, 'transaction'>;

  constructor(database: Pick<Database, 'transaction'>) {
    this.#database = database;
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(FORGET, [Date.now()]);
      const [row] = await transaction.run(USE, [series, place, until]);
      return row!.turn > 0;
    });
  }
}
