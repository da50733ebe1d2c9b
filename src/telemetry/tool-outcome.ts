import type { Log } from './log.ts';

/** What happened to a call of an assistant's tool. Its arguments are in no log: the name of a feed is among them. */
export interface ToolOutcome {
  /** Its name, one of our own making. */
  readonly tool: string;
  /** Names the request in the log. */
  readonly requestId: string;
  readonly ms: number;
  /** Why it was refused. */
  readonly code: string | undefined;
  /** What went wrong underneath, where that is an error of ours. */
  readonly error: unknown;
}

/**
 * One line for each call, beside the one of its request.
 * @param isEach false for calls with an error of ours alone
 */
export function toolLog(log: Pick<Log, 'info' | 'error'>, isEach: boolean): (outcome: ToolOutcome) => void {
  return ({ tool, requestId, ms, code, error }) => {
    if (error === undefined && !isEach) return;
    const fields = {
      request: requestId,
      tool,
      ms: Math.round(ms * 1000) / 1000,
      ...(code === undefined ? {} : { code }),
    };
    if (error === undefined) log.info('tool', fields);
    else log.error('tool', { ...fields, err: error });
  };
}
