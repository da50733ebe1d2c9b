/** What commands are made of. */
import fc from 'fast-check';
import { picture } from '../support/pictures.ts';
import type { Meta, ModelFeed, Type } from './model.ts';

/** The feeds of a run. */
export const NAMES = ['owl', 'wren', 'tit'] as const;
const TYPES = ['md', 'png', 'jpg', 'gif', 'webp'] as const;
const PASSWORDS = ['', 'first', 'second'] as const;
const READ_IDS = ['readers', 'others', 'third_one', 'four', 'five', 'six', 'seven'] as const;
export const TAGS = ['red', 'green', 'blue'] as const;

export const name = fc.constantFrom(...NAMES);
export const password = fc.constantFrom(...PASSWORDS);
/** Mostly the right password, sometimes any. */
export const sent = fc.oneof(
  { weight: 6, arbitrary: fc.constant('right') },
  { weight: 1, arbitrary: password },
);
/** Which note, counted round from the newest; one in ten is absent. */
export const place = fc.integer({ min: 0, max: 9 });
export const seed = fc.integer({ min: 0, max: 255 });
export const line = fc
  .string({ unit: fc.constantFrom('a', 'b', 'ü', '😀', '"', '<', '&', ' '), maxLength: 12 })
  .map((text) => text.trim());
/** As often nothing as something. */
export const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 2 });
/** A word, as a heading or not, and any text below it that makes no other heading. */
export const text = fc
  .tuple(
    fc.boolean(),
    fc.constantFrom('alpha', 'beta', 'gamma'),
    fc.string({ unit: fc.constantFrom('x', 'é', '\n', ' ', '<', '*', '[', '😀') }),
  )
  .map(([isHeading, word, rest]) => `${isHeading ? '# ' : ''}${word}\n\n${rest}`);
export const type = fc.oneof(fc.constant('md' as const), fc.constantFrom(...TYPES));
export const size = fc.constantFrom(40, 3_000, 70_000);
export const tags = fc.uniqueArray(fc.constantFrom(...TAGS));
export const meta = fc.option(
  fc.record({ title: line, alt: line, name: fc.constantFrom('', 'cat.png'), tags }),
  {
    nil: undefined,
  },
);
export const readId = fc.oneof({ weight: 2, arbitrary: fc.constant('') }, fc.constantFrom(...READ_IDS));

export const NO_META: Meta = { title: '', alt: '', name: '', tags: [] };

export const NEW_FEED: ModelFeed = {
  readId: '',
  title: '',
  description: '',
  showSender: true,
  listed: false,
  image: '',
  password: '',
  notes: [],
};

export function bytesOf(type: Type, text: string, size: number, seed: number): Buffer<ArrayBuffer> {
  return type === 'md' ? Buffer.from(text) : picture(type, size, seed);
}
