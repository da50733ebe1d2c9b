import { toast } from '../page/toast.ts';

// What is shared: the link as a QR code, and by the dialog of the device where there is one.

document.addEventListener('click', (event) => {
  const button =
    event.target instanceof Element && event.target.closest<HTMLElement>('[data-qr], [data-share]');
  if (!button) return;
  const { qr, heading = '', share } = button.dataset;
  // It would close with what holds it, and the focus should come back to what has opened that.
  button.closest<HTMLElement>('[popover]')?.hidePopover();
  if (qr !== undefined) void showQr(document.getElementById(qr)!.textContent!, heading);
  if (share === undefined || !navigator.share) return;
  // The page's own dialog stays closed.
  event.preventDefault();
  void navigator.share({ title: heading, url: share }).catch(() => {});
});

/** Opens a dialog with a text as a QR code. The page draws it, so the text is sent to nobody. */
async function showQr(text: string, heading: string): Promise<void> {
  try {
    const { qrDialog } = await import('./qr.ts');
    qrDialog(text, heading);
  } catch {
    toast('The QR code cannot be loaded. Please try again.');
  }
}
