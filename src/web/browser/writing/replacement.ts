import { find } from '../page/elements.ts';
import { type ApiRequest, RequestFailed } from '../page/send.ts';
import { bytesText } from '../page/text.ts';
import { POSITION_WARNING, preparePicture } from './shrink.ts';

/** Prepares the picture chosen to replace a note's. Returns a function that gives its request; undefined if none is chosen. */
export function replacement(
  form: HTMLFormElement,
): () => Promise<Pick<ApiRequest, 'headers' | 'body'> | undefined> {
  const input = form.querySelector<HTMLInputElement>('[name=replacement]');
  if (input === null) return async () => undefined;
  const notice = find(form, '.notice');
  let prepared: Promise<Blob> | undefined;
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    notice.textContent = '';
    prepared = file && prepare(file, input, notice);
    // It is asked for again at Save.
    prepared?.catch((error: Error) => {
      notice.textContent = error.message;
    });
  });
  form.addEventListener('reset', () => {
    prepared = undefined;
    notice.textContent = '';
  });
  return async () => {
    const body = await prepared;
    return body && { headers: { 'Content-Type': body.type }, body };
  };
}

async function prepare(file: File, { dataset }: HTMLInputElement, notice: Element): Promise<Blob> {
  const picture = await preparePicture(file, Number(dataset.shrink), true);
  const { size } = picture.file;
  if (size > Number(dataset.largest))
    throw new RequestFailed(
      `The picture has ${bytesText(size)}; it may have at most ${bytesText(Number(dataset.largest))}.`,
    );
  // What was shrunk has no position.
  if (picture.holdsPosition) notice.textContent = POSITION_WARNING;
  else if (picture.file !== file)
    notice.textContent = `Shrunk from ${bytesText(file.size)} to ${bytesText(size)}.`;
  return picture.file;
}
