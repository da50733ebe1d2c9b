import { find } from './elements.ts';

/** What a toast offers until it closes. */
interface Offer {
  readonly label: string;
  readonly run: () => void;
  /** Called if the button was not pressed in time. */
  readonly otherwise?: () => void;
}

/** A message at the foot of the page, which screen readers say. */
export interface Toast {
  /** Takes it away before its time. */
  close(): void;
  /** Does what the button of the toast does, and closes the toast. */
  take(): void;
}

const SHOWN_MS = 5_000;

/**
 * Says what happened.
 * @param ms how long, 5 s unless given; it begins anew when the toast was pointed at or had the focus
 */
export function toast(sentence: string, offer?: Offer, ms = SHOWN_MS): Toast {
  const shown = document.createElement('div');
  shown.className = 'toast';
  const text = document.createElement('span');
  text.textContent = sentence;
  shown.append(text);
  if (offer !== undefined) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = offer.label;
    button.addEventListener('click', take);
    shown.append(button);
  }
  let timer = setTimeout(end, ms);
  const wait = () => clearTimeout(timer);
  const goOn = () => {
    clearTimeout(timer);
    timer = setTimeout(end, ms);
  };
  shown.addEventListener('pointerenter', wait);
  shown.addEventListener('focusin', wait);
  shown.addEventListener('pointerleave', goOn);
  shown.addEventListener('focusout', goOn);
  // The region is in the page from the start, because screen readers watch only those that they know.
  find(document, '#toasts').append(shown);
  return { close, take };

  function take(): void {
    close();
    offer?.run();
  }

  function end(): void {
    // The browser may have sent another event to the removed element, which starts the timer again.
    if (!shown.isConnected) return;
    close();
    offer?.otherwise?.();
  }

  function close(): void {
    clearTimeout(timer);
    shown.remove();
    // Removing an element with the focus fires `focusout`, which starts the timer again.
    clearTimeout(timer);
  }
}
