import type { Caller } from '../access/access.ts';

/** Who calls a tool for a feed: let in by the instance before, with the password that is among the arguments. */
export function called(caller: Caller, { password }: { readonly password?: string | undefined }): Caller {
  return {
    client: caller.client,
    requestId: caller.requestId,
    bearer: undefined,
    session: undefined,
    feedPassword: password,
    unlock: undefined,
    sender: caller.sender,
    isAdmitted: true,
    get isAborted() {
      return caller.isAborted;
    },
  };
}
