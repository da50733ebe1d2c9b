/**
 * Default nice increment of worker threads (`nice(2)`), so that on few cores neither checking and writing pictures nor
 * parsing strangers' texts delays readers, nor do these texts delay posts.
 *
 * Measured on two cores, each pair in turn. The p99 of readers while 64 connections post pictures, to its idle value:
 * with writing at 10, 1.3 to 2.9 (median 1.6, 9 runs), at 0, 1.7 to 2.7 (median 2.0, 9 runs). The p99 of raw posts while
 * slow texts are read at 19: with writing at 10, 1.5 to 3.1 (8 runs), at 0, 1.2 to 2.1 (8 runs), at 5, 1.2 to 2.2 (4 runs);
 * with the texts at 10 as well, 2.3 to 4.0 (8 runs).
 */
export const BACKGROUND_NICE = 10;

/** For storage threads, because a request waits for each. */
export const STORAGE_NICE = 5;

/** For threads that parse strangers' texts, for seconds each. */
export const TEXT_NICE = 19;
