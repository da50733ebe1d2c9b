import { crc32, deflateRawSync } from 'node:zlib';

/** A file of a zip, and what an attacker may say of it. */
export interface ZippedFile {
  readonly name: string;
  readonly bytes?: string | Uint8Array;
  /** Type and rights as on Unix. */
  readonly mode?: number;
  readonly flags?: number;
  readonly method?: number;
  /** The system on which it was made: 3 is Unix, 0 is Windows. */
  readonly system?: number;
  /** The size that the zip says; that of the bytes unless given. */
  readonly size?: number;
  readonly crc?: number;
  /** The bytes as they are in the zip; those that its method makes unless given. */
  readonly packed?: Uint8Array;
  /** Where it says that the file begins. */
  readonly offset?: number;
  /** The date in the format of DOS; 1 January 2025 unless given. */
  readonly day?: number;
}

/** A zip as other programs make them: deflated unless the method says otherwise. */
export function zipOf(files: readonly ZippedFile[]): Buffer<ArrayBuffer> {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const file of files) {
    const { name, bytes = 'x', mode = 0o100644, flags = 0x800, method = 8, system = 3, ...said } = file;
    const content = Buffer.from(bytes);
    const packed = said.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const common = Buffer.alloc(26);
    for (const [at, value] of [20, flags, method, 0, said.day ?? 0x5a21].entries())
      common.writeUInt16LE(value, at * 2);
    common.writeUInt32LE(said.crc ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(said.size ?? content.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(mode * 0x10000, 6);
    rest.writeUInt32LE(said.offset ?? offset, 10);
    directory.push(
      Buffer.from(`PK\x01\x02\x14${String.fromCharCode(system)}`),
      common,
      rest,
      Buffer.from(name),
    );
    parts.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
