import type { Config } from '../config.ts';
import { largestRequestBytes } from '../feeds/limits.ts';
import { leastBodyMemory } from '../http/body-memory.ts';

const MIN_CACHE_BYTES = 1024 * 1024;

/**
 * The settings of one of several processes: its part of the memory and threads that the settings name for all. Each can
 * still take the largest request, whatever its part is.
 */
export function shareOf(config: Config): Config {
  const { processes, cacheBytes, bodyMemoryBytes, workers, maxImageBytes } = config;
  if (processes === 1) return config;
  const least = leastBodyMemory(largestRequestBytes(maxImageBytes));
  return {
    ...config,
    cacheBytes: Math.max(MIN_CACHE_BYTES, Math.floor(cacheBytes / processes)),
    bodyMemoryBytes: Math.max(least, Math.floor(bodyMemoryBytes / processes)),
    workers: Math.ceil(workers / processes),
  };
}
