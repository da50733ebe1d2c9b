/** A named field of a box. */
export type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** What a note has beside its pictures, as the fields of a box are named. */
const NAMES = ['text', 'alt', 'title', 'tags', 'expires'];

/** The fields of a box that a note and a draft are made of. */
export function noteFields(form: HTMLFormElement): Field[] {
  return NAMES.flatMap((name) => (form.elements.namedItem(name) as Field | null) ?? []);
}

/** The field's value as the page came with it. */
export function defaultOf(field: Field): string {
  if (!(field instanceof HTMLSelectElement)) return field.defaultValue;
  const chosen = [...field.options].find(({ defaultSelected }) => defaultSelected);
  return (chosen ?? field.options[0]!).value;
}

export function isChanged(field: Field): boolean {
  return field.value !== defaultOf(field);
}

/** Sets a value as if it had been typed. */
export function setValue(field: Field, value: string): void {
  field.value = value;
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** The values of the fields by name. */
export function valuesOf(
  fields: readonly Field[],
  value = (field: Field) => field.value,
): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field.name, value(field)]));
}
