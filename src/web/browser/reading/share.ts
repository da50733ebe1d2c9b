import { closest } from '../page/elements.ts';
import { toast } from '../page/toast.ts';

// Shares the link of a page: as a QR code, and by the share dialog of the device if it has one.

document.addEventListener('click', (event) => {
  const button = closest(event.target, '[data-qr], [data-share]');
  if (!button) return;
  const { qr, heading = '', share } = button.dataset;
  // The popover is closed first, so that the focus returns to its button when the dialog closes.
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
