import type { Log } from './log.ts';

/** The end of a call of an assistant's tool. Its arguments are not logged, because the name of a feed is among them. */
export interface ToolOutcome {
  readonly tool: string;
  readonly requestId: string;
  readonly ms: number;
  /** Of the refusal. */
  readonly code: string | undefined;
  /** Cause of an internal error. */
  readonly error: unknown;
}

/**
 * Logs one line per call, besides that of its request.
 * @param isEach false to log internal errors only
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
