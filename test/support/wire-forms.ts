/**
 * The bytes that clients really send, recorded from each: the same text, two pictures and an alternative text, as far
 * as the client can say them. The double quote of the first name is what they differ in.
 */

/** A recorded request. */
export interface WireForm {
  readonly client: string;
  readonly type: string;
  readonly body: string;
  /** What it means. */
  readonly text: string;
  readonly name: string;
  readonly alt: string | undefined;
}

const NAME = 'a"b größe.png';

/** Lines end in CR LF, but a break within a line of text. */
function lines(...text: string[]): string {
  return `${text.join('\r\n')}\r\n`;
}

export const WIRE_FORMS: readonly WireForm[] = [
  {
    client: 'curl 7.88',
    type: 'multipart/form-data; boundary=------------------------11bff494e58d8c54',
    body: lines(
      '--------------------------11bff494e58d8c54',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe',
      '--------------------------11bff494e58d8c54',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '--------------------------11bff494e58d8c54',
      'Content-Disposition: form-data; name="alt.a%22b größe.png"',
      '',
      'Ein Bild',
      '--------------------------11bff494e58d8c54--',
    ),
    text: 'Größe',
    name: NAME,
    alt: 'Ein Bild',
  },
  {
    client: 'curl 7.88 --form-escape, as curl before 7.81',
    type: 'multipart/form-data; boundary=------------------------64f38457f2462631',
    body: lines(
      '--------------------------64f38457f2462631',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe',
      '--------------------------64f38457f2462631',
      'Content-Disposition: form-data; name="file"; filename="a\\"b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '--------------------------64f38457f2462631--',
    ),
    text: 'Größe',
    name: NAME,
    alt: undefined,
  },
  {
    client: 'curl 7.88, the text from a file',
    type: 'multipart/form-data; boundary=------------------------11bff494e58d8c54',
    body: lines(
      '--------------------------11bff494e58d8c54',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '--------------------------11bff494e58d8c54',
      'Content-Disposition: form-data; name="text"; filename="note.md"',
      'Content-Type: application/octet-stream',
      '',
      'Größe',
      '--------------------------11bff494e58d8c54--',
    ),
    text: 'Größe',
    name: NAME,
    alt: undefined,
  },
  {
    client: 'Chromium 156',
    type: 'multipart/form-data; boundary=----WebKitFormBoundarywKvQAQeCElAsJXd6',
    body: lines(
      '------WebKitFormBoundarywKvQAQeCElAsJXd6',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe\r\nzwei',
      '------WebKitFormBoundarywKvQAQeCElAsJXd6',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '------WebKitFormBoundarywKvQAQeCElAsJXd6',
      'Content-Disposition: form-data; name="alt.a%22b größe.png"',
      '',
      'Ein Bild',
      '------WebKitFormBoundarywKvQAQeCElAsJXd6--',
    ),
    text: 'Größe\r\nzwei',
    name: NAME,
    alt: 'Ein Bild',
  },
  {
    client: 'Chromium 156, the text as a Blob',
    type: 'multipart/form-data; boundary=----WebKitFormBoundarywKvQAQeCElAsJXd6',
    body: lines(
      '------WebKitFormBoundarywKvQAQeCElAsJXd6',
      'Content-Disposition: form-data; name="text"; filename="blob"',
      'Content-Type: application/octet-stream',
      '',
      'Größe\nzwei',
      '------WebKitFormBoundarywKvQAQeCElAsJXd6',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '------WebKitFormBoundarywKvQAQeCElAsJXd6--',
    ),
    text: 'Größe\nzwei',
    name: NAME,
    alt: undefined,
  },
  {
    client: 'undici 8.12',
    type: 'multipart/form-data; boundary=----formdata-undici-080554837696',
    body: lines(
      '------formdata-undici-080554837696',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe\r\nzwei',
      '------formdata-undici-080554837696',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '------formdata-undici-080554837696',
      'Content-Disposition: form-data; name="alt.a%22b größe.png"',
      '',
      'Ein Bild',
      '------formdata-undici-080554837696--',
    ),
    text: 'Größe\r\nzwei',
    name: NAME,
    alt: 'Ein Bild',
  },
  {
    client: 'python requests 2.34 with urllib3 2.7',
    type: 'multipart/form-data; boundary=0153bcf5e6238bb714db79c9133391c6',
    body: lines(
      '--0153bcf5e6238bb714db79c9133391c6',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe\nzwei',
      '--0153bcf5e6238bb714db79c9133391c6',
      'Content-Disposition: form-data; name="alt.a%22b größe.png"',
      '',
      'Ein Bild',
      '--0153bcf5e6238bb714db79c9133391c6',
      'Content-Disposition: form-data; name="file"; filename="a%22b größe.png"',
      'Content-Type: image/png',
      '',
      'PNG',
      '--0153bcf5e6238bb714db79c9133391c6--',
    ),
    text: 'Größe\nzwei',
    name: NAME,
    alt: 'Ein Bild',
  },
  {
    client: 'python requests with the names of older urllib3 (format_header_param_rfc2231)',
    type: 'multipart/form-data; boundary=0153bcf5e6238bb714db79c9133391c6',
    body: lines(
      '--0153bcf5e6238bb714db79c9133391c6',
      'Content-Disposition: form-data; name="text"',
      '',
      'Größe\nzwei',
      '--0153bcf5e6238bb714db79c9133391c6',
      "Content-Disposition: form-data; name*=utf-8''alt.a%22b%20gr%C3%B6%C3%9Fe.png",
      '',
      'Ein Bild',
      '--0153bcf5e6238bb714db79c9133391c6',
      'Content-Disposition: form-data; name="file"; ' + "filename*=utf-8''a%22b%20gr%C3%B6%C3%9Fe.png",
      'Content-Type: image/png',
      '',
      'PNG',
      '--0153bcf5e6238bb714db79c9133391c6--',
    ),
    text: 'Größe\nzwei',
    name: NAME,
    alt: 'Ein Bild',
  },
];
