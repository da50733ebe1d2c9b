/** Whether the long hunts are to run in full: in the `*.soak.ts` files, which `npm run test:soak` runs. */
export const isSoak = /\.soak\.ts$/.test(process.argv[1] ?? '');

/** How often a hunt is repeated: `few` times in `npm test`, `many` times in `npm run test:soak`. */
export const times = (few: number, many: number): number => (isSoak ? many : few);

/** Options of a test that runs in `npm run test:soak` only. */
export const IN_SOAK = { skip: isSoak ? false : 'part of npm run test:soak' };
