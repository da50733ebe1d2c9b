import { isUtf8 } from 'node:buffer';
import { decodeFormName } from '../feeds/file-names.ts';
import { extendedText } from '../feeds/header-text.ts';
import { Refusal } from '../refusals.ts';
import { parseParameters } from './content-type.ts';

/** The header lines of a part by lower-case name, in order, as latin1. */
export type PartFields = Readonly<Record<string, readonly string[] | undefined>>;

/** RFC 7578. */
export interface PartHeader {
  readonly name: string;
  /** Undefined for a plain field. */
  readonly fileName: string | undefined;
  readonly type: string | undefined;
}

/** A name in all its forms has 3 KB. */
export const MAX_HEADER_BYTES = 8 * 1024;

/** A token (RFC 9110, section 5.6.2), because a name before a space would be skipped. */
const FIELD_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** Encodings that leave the bytes of a part as they are. */
const IDENTITY = /^(?:7bit|8bit|binary)?$/i;

/**
 * Names are UTF-8: raw with the escapes of HTML (`name="a%22b"`), as browsers, curl and most libraries send them, or in
 * extended form (`filename*=UTF-8''a%22b`, RFC 8187), which wins and has no other escapes.
 * @throws Refusal `invalid_body` for any header but one of a form field with valid names
 */
export function readPartHeader(fields: PartFields): PartHeader {
  if (sizeOf(fields) > MAX_HEADER_BYTES) throw headerTooLong();
  if (!Object.keys(fields).every((name) => FIELD_NAME.test(name)))
    throw invalid('A line in the header of a part does not begin with a name and a colon.');
  const encoding = single(fields, 'content-transfer-encoding') ?? '';
  if (!IDENTITY.test(encoding.trim()))
    throw invalid('Parts must be sent as they are, without a Content-Transfer-Encoding.');
  const disposition = parseParameters(decode(single(fields, 'content-disposition') ?? ''));
  if (disposition?.value !== 'form-data')
    throw invalid('Each part must have a well-formed Content-Disposition of form-data.');
  const name = nameParameter(disposition.parameters, 'name');
  if (name === undefined) throw invalid('Each part must have a name.');
  const fileName = nameParameter(disposition.parameters, 'filename');
  return { name, fileName, type: single(fields, 'content-type') };
}

export function headerTooLong(): Refusal {
  return invalid(`The header of a part must be at most ${MAX_HEADER_BYTES} bytes long.`);
}

function single(fields: PartFields, name: string): string | undefined {
  const values = fields[name] ?? [];
  if (values.length > 1) throw invalid(`A part has more than one ${name}.`);
  return values[0];
}

function nameParameter(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  const extended = parameters.get(`${name}*`);
  if (extended === undefined) {
    const plain = parameters.get(name);
    return plain === undefined ? undefined : decodeFormName(plain);
  }
  const text = extendedText(extended);
  if (text === undefined)
    throw invalid(`The ${name}* of a part must have the form UTF-8''caf%C3%A9 (RFC 8187).`);
  return text;
}

function decode(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  if (!isUtf8(bytes)) throw invalid('The name of a part is not UTF-8.');
  return bytes.toString();
}

/** The approximate length of the header: folded lines count as one. */
function sizeOf(fields: PartFields): number {
  let size = 0;
  for (const [name, values = []] of Object.entries(fields))
    for (const value of values) size += `${name}: ${value}\r\n`.length;
  return size;
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_body', message);
}
