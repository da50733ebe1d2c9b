import { parseTags } from '../../../feeds/tags.ts';
import { ALT_LENGTH, oneLine, TITLE_LENGTH } from '../../../feeds/text.ts';
import { bytesText } from '../page/text.ts';

type Ruled = HTMLInputElement | HTMLTextAreaElement;

/** What a value must be, by the name of its field: the rules of the service. Each throws an error with a sentence for people. */
const RULES: Readonly<Record<string, (value: string, field: Ruled) => unknown>> = {
  title: (value) => oneLine('A title', value, TITLE_LENGTH),
  tags: (value) => parseTags(value),
  alt: (value) => oneLine('An alternative text', value, ALT_LENGTH),
  text(value, { dataset }) {
    const { size } = new Blob([value]);
    if (size > Number(dataset.longest))
      throw new Error(
        `The text has ${bytesText(size)}; a note may have at most ${bytesText(Number(dataset.longest))}.`,
      );
  },
};

/**
 * Says at a field which rule its value breaks.
 * @param shown where the sentence stands; described by it
 * @returns whether it keeps them
 */
export function keepsRules(field: Ruled, shown: HTMLElement | null, rule = field.name): boolean {
  const sentence = problemOf(field, rule);
  if (shown !== null && shown.textContent !== sentence) shown.textContent = sentence;
  field.ariaInvalid = sentence === '' ? null : 'true';
  return sentence === '';
}

function problemOf(field: Ruled, rule: string): string {
  try {
    RULES[rule]?.(field.value, field);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
