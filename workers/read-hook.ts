import { type HookOutcome, type HookRequest, notesOf } from '../src/hooks/read-hook.ts';
import { Refusal } from '../src/refusals.ts';

/** As `notesOf`, for a request that is too large for the event loop. */
export default function readHook(request: HookRequest): HookOutcome {
  try {
    return { notes: notesOf(request) };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    throw error;
  }
}
