import { encode } from 'uqr';

const SVG = 'http://www.w3.org/2000/svg';
/** The white frame that readers of the code need, in modules. */
const QUIET_ZONE = 4;

/** Opens a dialog that shows a text as a QR code and as it is; it is gone once it is closed. */
export function qrDialog(text: string, heading: string): void {
  const dialog = document.createElement('dialog');
  dialog.className = 'qr';
  dialog.setAttribute('aria-labelledby', 'qr-heading');
  const title = element('h2', heading);
  title.id = 'qr-heading';
  const form = document.createElement('form');
  form.method = 'dialog';
  form.className = 'actions';
  const close = element('button', 'Close');
  close.autofocus = true;
  form.append(close);
  dialog.append(title, drawing(text), element('p', text), form);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Draws the QR code black on white in light and dark pages, because scanners need it so. */
function drawing(text: string): SVGElement {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const modules = data.flatMap((row, y) => row.map((isBlack, x) => (isBlack ? `M${x} ${y}h1v1h-1z` : '')));
  const svg = svgElement('svg', {
    viewBox: `0 0 ${size} ${size}`,
    role: 'img',
    'aria-label': 'QR code of the text below',
    'shape-rendering': 'crispEdges',
  });
  svg.append(
    svgElement('rect', { width: `${size}`, height: `${size}`, fill: '#fff' }),
    svgElement('path', { d: modules.join(''), fill: '#000' }),
  );
  return svg;
}

function svgElement(name: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function element<N extends 'h2' | 'p' | 'button'>(name: N, text: string): HTMLElementTagNameMap[N] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
