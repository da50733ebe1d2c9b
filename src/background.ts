/**
 * How much nicer than the event loop threads are (`nice(2)`), unless one of the others says how much: where cores are few, a reader is not to wait because pictures
 * are being checked and written, and neither a reader nor a post because a stranger's text is being read.
 *
 * Measured on two cores, each pair in turn. The p99 of readers while 64 connections post pictures, to its idle value:
 * with writing at 10, 1.3 to 2.9 (median 1.6, 9 runs), at 0, 1.7 to 2.7 (median 2.0, 9 runs). The p99 of raw posts while
 * slow texts are read at 19: with writing at 10, 1.5 to 3.1 (8 runs), at 0, 1.2 to 2.1 (8 runs), at 5, 1.2 to 2.2 (4 runs);
 * with the texts at 10 as well, 2.3 to 4.0 (8 runs).
 */
export const BACKGROUND_NICE = 10;

/** Threads that storages read and write on: somebody waits for each. */
export const STORAGE_NICE = 5;

/** Threads on which strangers' texts are read, for seconds each: they take what nobody else wants. */
export const TEXT_NICE = 19;
