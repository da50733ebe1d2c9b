/**
 * How much nicer than the event loop the other threads are (`nice(2)`): where cores are few, a reader is not to wait
 * because pictures are being checked and written. How much it helps is not settled: the p99 of RSS while 64 connections
 * post pictures was 2.3 to 3.1 times its idle value with it (3 runs), 2.4 to 4.4 times without (3 runs).
 */
export const BACKGROUND_NICE = 10;

/**
 * Threads on which strangers' texts are read, for seconds each: they take what nobody else wants. While four of them
 * were busy on two cores, the p99 of raw posts was 1.3 to 3.3 times its idle value with this, 2.3 to 4.0 times with the
 * niceness above (8 runs each, in turn).
 */
export const TEXT_NICE = 19;
