/** Whether the long hunts are to run in full: in `npm run test:soak`, that is in the `*.soak.ts` files. */
export const isSoak = process.env.SOAK === '1';

/** How often a hunt is repeated: `few` times in `npm test`, `many` times in `npm run test:soak`. */
export const times = (few: number, many: number): number => (isSoak ? many : few);

/** Options of a test that runs in `npm run test:soak` only. */
export const IN_SOAK = { skip: isSoak ? false : 'part of npm run test:soak' };
