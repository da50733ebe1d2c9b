/**
 * How much nicer than the event loop the other threads are (`nice(2)`): where cores are few, a reader is not to wait
 * because pictures are being checked and written. How much it helps is not settled: the p99 of RSS while 64 connections
 * post pictures was 2.3 to 3.1 times its idle value with it (3 runs), 2.4 to 4.4 times without (3 runs).
 */
export const BACKGROUND_NICE = 10;
