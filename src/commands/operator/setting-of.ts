import { type Environment, readSetting, type Setting } from '../../setting.ts';

/** The value of a setting that only commands have. Throws an Error with the sentence if it breaks its rule. */
export function settingOf<T>(env: Environment, asked: Setting<T>): T {
  const reading = readSetting(env, asked);
  if ('problem' in reading) throw new Error(`${reading.problem}.`);
  return reading.value;
}
