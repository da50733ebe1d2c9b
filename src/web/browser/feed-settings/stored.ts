/** Whether a field of the settings holds what is not saved. */
export function isUnsaved(field: HTMLInputElement): boolean {
  const stored = storedValue(field.form!, field.name);
  if (stored === undefined)
    return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  return stored !== (field.type === 'checkbox' ? String(Number(field.checked)) : field.value);
}

/** The value of a setting as the page knows it. After a refusal, fields come with what was typed as their default. */
export function storedValue(root: ParentNode, name: string): string | undefined {
  return root.querySelector<HTMLInputElement>(`[name=was_${name}]`)?.value;
}
