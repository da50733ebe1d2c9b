import { ConfigError, readConfig } from '../../src/config.ts';

/** The problems of an environment, one for each wrong variable. */
export function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
