import { closest } from '../page/elements.ts';
import { commandLetter, isComposed } from '../page/keys.ts';

/** What the tools of a box do to the selected text. Each is one step of the browser's own undo. */

/** A line of a list: its indent, mark and check box. */
const LIST_ITEM = /^([ \t]*)([-*+]|(\d{1,9})([.)]))([ \t]+)(\[[ xX]\][ \t]+)?/;
const KEYS: Readonly<Record<string, Tool>> = { b: 'bold', i: 'italic', k: 'link' };

type Tool = keyof typeof TOOLS;

const TOOLS = {
  bold: (text: HTMLTextAreaElement) => wrap(text, '**'),
  italic: (text: HTMLTextAreaElement) => wrap(text, '*'),
  link,
  list,
  code,
};

/** Lets the tools of a form act on its text, by buttons and by keys. */
export function textTools(form: HTMLFormElement, text: HTMLTextAreaElement): void {
  form.addEventListener('click', ({ target }) => {
    const tool = closest(target, '[data-tool]')?.dataset.tool;
    if (!tool || !(tool in TOOLS) || text.readOnly) return;
    text.focus();
    TOOLS[tool as Tool](text);
  });
  text.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
    if (isComposed(event) || text.readOnly) return;
    const tool = KEYS[commandLetter(event) ?? ''];
    const isPlain = !(ctrlKey || metaKey || altKey || shiftKey);
    if (tool !== undefined) TOOLS[tool](text);
    else if (key !== 'Enter' || !isPlain || !continueList(text)) return;
    event.preventDefault();
  });
}

/** Puts a text in place of a range, as if it had been typed. */
function replaceRange(text: HTMLTextAreaElement, start: number, end: number, by: string): void {
  text.focus();
  text.setSelectionRange(start, end);
  // Only `execCommand` lets people undo the change. Not every browser returns whether it worked, so the text is compared.
  const before = text.value;
  const isDone = by === '' ? document.execCommand('delete') : document.execCommand('insertText', false, by);
  if (isDone || text.value !== before || (by === '' && start === end)) return;
  text.setRangeText(by, start, end, 'end');
  text.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Puts a block at the caret, with a blank line before it and behind it. */
export function insertBlock(text: HTMLTextAreaElement, block: string): void {
  const { selectionStart, selectionEnd, value } = text;
  const before = value.slice(0, selectionStart);
  const after = value.slice(selectionEnd);
  const above = before.trim() === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n';
  const below = after === '' || after.startsWith('\n\n') ? '' : after.startsWith('\n') ? '\n' : '\n\n';
  replaceRange(text, selectionStart, selectionEnd, above + block + below);
}

/** Puts marks around the selection, or takes them away. */
function wrap(text: HTMLTextAreaElement, mark: string): void {
  const { selectionStart: start, selectionEnd: end, value } = text;
  const { length } = mark;
  const isAround = value.slice(start - length, start) === mark && value.slice(end, end + length) === mark;
  // A mark of one character is also the half of one of two.
  const isHalf = length === 1 && value[start - 2] === mark && value[start - 3] !== mark;
  const selected = value.slice(start, end);
  if (isAround && !isHalf && start >= length) {
    replaceRange(text, start - length, end + length, selected);
    text.setSelectionRange(start - length, end - length);
  } else {
    replaceRange(text, start, end, mark + selected + mark);
    text.setSelectionRange(start + length, end + length);
  }
}

/** Makes the selection a link, to itself if it is an address, and selects what is to be typed next. */
function link(text: HTMLTextAreaElement): void {
  const { selectionStart: start, selectionEnd: end, value } = text;
  const selected = value.slice(start, end);
  const isAddress = /^https?:\/\/\S+$/.test(selected);
  replaceRange(text, start, end, isAddress ? `[](${selected})` : `[${selected}](https://)`);
  if (isAddress || selected === '') text.setSelectionRange(start + 1, start + 1);
  else text.setSelectionRange(start + selected.length + 3, start + selected.length + 11);
}

/** Makes the selected lines a list, or plain lines again. */
function list(text: HTMLTextAreaElement): void {
  const { selectionStart, selectionEnd, value } = text;
  const start = value.lastIndexOf('\n', selectionStart - 1) + 1;
  const next = value.indexOf('\n', selectionEnd);
  const end = next === -1 ? value.length : next;
  const lines = value.slice(start, end).split('\n');
  const isList = lines.every((line) => LIST_ITEM.test(line));
  const changed = lines.map((line) => (isList ? line.replace(LIST_ITEM, '$1') : `- ${line}`)).join('\n');
  replaceRange(text, start, end, changed);
  if (selectionStart !== selectionEnd) text.setSelectionRange(start, start + changed.length);
}

/** Marks the selection as code: within a line, or as a block of lines. */
function code(text: HTMLTextAreaElement): void {
  const { selectionStart: start, selectionEnd: end, value } = text;
  const selected = value.slice(start, end);
  if (selected.includes('\n')) insertBlock(text, `\`\`\`\n${selected.replace(/\n$/, '')}\n\`\`\``);
  else wrap(text, '`');
}

/** Begins the next line of a list, or ends the list behind an empty one. Returns whether the caret is in a list. */
function continueList(text: HTMLTextAreaElement): boolean {
  const { selectionStart, selectionEnd, value } = text;
  if (selectionStart !== selectionEnd) return false;
  const start = value.lastIndexOf('\n', selectionStart - 1) + 1;
  const line = value.slice(start, selectionStart);
  const [whole, indent = '', mark = '', number, dot, space = ' ', box] = LIST_ITEM.exec(line) ?? [];
  if (whole === undefined) return false;
  if (whole === line) replaceRange(text, start, selectionStart, '');
  else {
    const next = number === undefined ? mark : `${Number(number) + 1}${dot}`;
    replaceRange(
      text,
      selectionStart,
      selectionStart,
      `\n${indent}${next}${space}${box === undefined ? '' : '[ ] '}`,
    );
  }
  return true;
}
