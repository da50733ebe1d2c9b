/** How often a hunt is repeated: `few` times in `npm test`, `many` times in the `*.soak.ts` files. */
export function times(few: number, many: number): number {
  return process.env.SOAK === '1' ? many : few;
}
