import { createLog, type Log, type LogLevel } from '../../src/telemetry/log.ts';

/** The real log, its lines kept here instead of written; their times are left out. */
export function collectedLog(level: LogLevel = 'info'): { lines: Record<string, unknown>[]; log: Log } {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const { time: _, ...fields } = JSON.parse(line);
    lines.push(fields);
  };
  return { lines, log: createLog({ level, destination: { write, lost: 0, close: async () => {} } }) };
}
