// What browsers of before 2023 lack, such as those of the phones that ended with iOS 15, for all scripts that are loaded after this one.

/** Presses the button, which does the same. */
HTMLFormElement.prototype.requestSubmit ??= function (submitter) {
  ((submitter ?? this.querySelector('button:not([type=button])')) as HTMLElement | null)?.click();
};
String.prototype.toWellFormed ??= function () {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(String(this)));
};
AbortSignal.timeout ??= (ms) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('It took too long.', 'TimeoutError')), ms);
  return controller.signal;
};
