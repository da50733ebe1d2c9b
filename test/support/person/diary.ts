/** `kept`: the word must be in exactly one note in the end. `unsure`: in one or none, because no draft had it yet, or its note was deleted. */
type Fate = 'kept' | 'unsure';

/** What was done, and the words that were written meanwhile. */
export class Diary {
  /** For people. */
  readonly did: string[] = [];
  readonly #words = new Map<string, Fate>();

  say(line: string): void {
    this.did.push(line);
  }

  /** A new word, which begins and ends with a letter. */
  word(letter: string): string {
    const word = `${letter}${this.#words.size + 1}${letter}`;
    this.#words.set(word, 'unsure');
    return word;
  }

  keep(word: string): void {
    this.say(`  ${word} is kept`);
    this.#words.set(word, 'kept');
  }

  mayGo(word: string): void {
    this.say(`  ${word} may go`);
    this.#words.set(word, 'unsure');
  }

  /** The words that are in a text. */
  wordsIn(text: string): string[] {
    return [...this.#words.keys()].filter((word) => text.includes(word));
  }

  /** The words that are not in one of these texts, as they should be. */
  problems(texts: readonly string[]): string[] {
    return [...this.#words].flatMap(([word, fate]) => {
      const count = texts.filter((text) => text.includes(word)).length;
      return count === 1 || (count === 0 && fate === 'unsure')
        ? []
        : [`${word} (${fate}) is in ${count} notes`];
    });
  }
}
