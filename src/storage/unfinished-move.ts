/** What keeps the service from starting on a part of an instance; `what` begins the sentence for the operator. */
export function unfinishedMove(what: string): Error {
  return new Error(
    `${what} is the target of a move that has not been finished: run the same "npm run move" again, or remove what ` +
      'is there.',
  );
}
