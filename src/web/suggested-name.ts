import { randomInt } from 'node:crypto';

const ADJECTIVES =
  `amber brave brisk calm clear cosy deep early fair gentle golden happy keen kind light lively lucky mellow merry misty
noble pale plain proud quick quiet rapid ready shy silver sunny swift tidy warm wise`.split(/\s/);
const ANIMALS =
  `badger bear beaver bison crane deer dove eagle falcon finch fox gecko goose hare hawk heron ibis jay koala lark lemur lynx
magpie marten mole moose newt otter owl panda puffin raven robin seal stork swan`.split(/\s/);
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
/** 67 bits, without the words. */
const SUFFIX_LENGTH = 13;

/** A feed name that nobody guesses, for example `quiet-otter-x7k2p4m9qd8zr`. */
export function suggestedName(): string {
  const suffix = Array.from({ length: SUFFIX_LENGTH }, () => oneOf(LETTERS));
  return `${oneOf(ADJECTIVES)}-${oneOf(ANIMALS)}-${suffix.join('')}`;
}

function oneOf(choices: readonly string[]): string {
  return choices[randomInt(choices.length)]!;
}
