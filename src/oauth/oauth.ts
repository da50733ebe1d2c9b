import type { TokenSeries } from '../storage/storage.ts';
import { Clients } from './clients.ts';
import { Grants } from './grants.ts';
import { SignedTokens, type SignedTokensParts } from './signed-tokens.ts';

/** The OAuth server of a locked instance: loaded when it is first needed, because few instances have assistants. */
export class OAuth {
  readonly clients: Clients;
  readonly grants: Grants;

  /** @param admits whether who has signed in with this address still may */
  constructor(parts: SignedTokensParts, series: TokenSeries, admits: (email: string) => boolean) {
    const tokens = new SignedTokens(parts);
    this.clients = new Clients(tokens);
    this.grants = new Grants(tokens, series, admits);
  }
}
