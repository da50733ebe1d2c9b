/** Keyboards of Apple have ⌘ for commands; there, Ctrl with a letter moves the caret or deletes. */
const IS_APPLE = /^(?:Mac|iP)/.test(navigator.platform);
/** The key code of what an input method takes. */
const TAKEN = 229;

/** Whether an input method takes a key. In Safari, the Enter that ends a composition comes after that end, and only its code tells. */
export function isComposed({ isComposing, keyCode }: KeyboardEvent): boolean {
  return isComposing || keyCode === TAKEN;
}

/**
 * The letter that was pressed together with Ctrl or ⌘, in lower case; on a keyboard of another script, such as a Greek one, the Latin
 * letter of that key. Undefined without Ctrl or ⌘, and with further keys.
 */
export function commandLetter(event: KeyboardEvent): string | undefined {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (!(IS_APPLE ? metaKey : ctrlKey) || altKey || shiftKey || isComposed(event)) return undefined;
  return /^[a-z]$/i.test(key) ? key.toLowerCase() : /^Key([A-Z])$/.exec(code)?.[1]?.toLowerCase();
}
