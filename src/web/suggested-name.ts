import { randomInt } from 'node:crypto';

const QUALITIES =
  'amber brave brisk calm clear cosy deep early fair gentle golden happy keen kind light lively lucky'
    .concat(
      ' mellow merry misty noble pale plain proud quick quiet rapid ready shy silver sunny swift tidy warm wise',
    )
    .split(' ');
const ANIMALS =
  'badger bear beaver bison crane deer dove eagle falcon finch fox gecko goose hare hawk heron ibis jay'
    .concat(
      ' koala lark lemur lynx magpie marten mole moose newt otter owl panda puffin raven robin seal stork swan',
    )
    .split(' ');
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** 67 bits, without the words. */
const SUFFIX_LENGTH = 13;

/** A name for a feed that nobody guesses, for example `quiet-otter-x7k2p4m9qd8zr`. */
export function suggestedName(): string {
  const suffix = Array.from({ length: SUFFIX_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]);
  return `${oneOf(QUALITIES)}-${oneOf(ANIMALS)}-${suffix.join('')}`;
}

function oneOf(words: readonly string[]): string {
  return words[randomInt(words.length)]!;
}
