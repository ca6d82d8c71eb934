/** Headers of tar archives (POSIX ustar, with the long names of pax and GNU). Pure. */

export const blockSize = 512;

export interface TarHeader {
  readonly name: string;
  readonly size: number;
  /** `0` file, `5` folder, `2` symbolic link, `1` hard link, `x` and `L`: names of the next entry. */
  readonly type: string;
  readonly linkName: string;
  readonly mode: number;
}

/** The archive is no archive, or was changed. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Undefined for the empty block at the end. Throws a TarError. */
export function parseHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const expected = octal(block, 148, 8);
  let sum = 0;
  for (let i = 0; i < blockSize; i += 1) sum += i >= 148 && i < 156 ? 32 : (block[i] ?? 0);
  if (sum !== expected) throw new TarError('tar contents corrupted');
  const prefix = block.toString('latin1', 257, 262) === 'ustar' ? text(block, 345, 155) : '';
  const plain = text(block, 0, 100);
  return {
    name: prefix === '' ? plain : `${prefix}/${plain}`,
    mode: octal(block, 100, 8),
    size: sizeOf(block),
    type: String.fromCharCode(block[156] || 48),
    linkName: text(block, 157, 100),
  };
}

function text(block: Buffer, start: number, length: number): string {
  const part = block.subarray(start, start + length);
  const end = part.indexOf(0);
  return part.toString('utf8', 0, end < 0 ? length : end);
}

function octal(block: Buffer, start: number, length: number): number {
  const digits = text(block, start, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new TarError('tar contents corrupted');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** Octal digits, or a binary number where they would not suffice. */
function sizeOf(block: Buffer): number {
  if (((block[124] ?? 0) & 0x80) === 0) return octal(block, 124, 12);
  const size = Number(block.readBigUInt64BE(128));
  if (!Number.isSafeInteger(size)) throw new TarError('tar contents corrupted');
  return size;
}

/** The header of an entry, with one for its name in front where that is long. */
export function headerBlocks({ name, size, type, linkName, mode }: TarHeader): Buffer {
  const parts: Buffer[] = [];
  const records = [
    ...(Buffer.byteLength(name) > 100 ? [record('path', name)] : []),
    ...(Buffer.byteLength(linkName) > 100 ? [record('linkpath', linkName)] : []),
  ].join('');
  if (records !== '') {
    const content = Buffer.from(records);
    parts.push(block({ name: 'pax', size: content.length, type: 'x', linkName: '', mode: 0o644 }), padded(content));
  }
  parts.push(block({ name, size, type, linkName, mode }));
  return Buffer.concat(parts);
}

/** A pax record begins with its own length. */
function record(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length !== String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function block({ name, size, type, linkName, mode }: TarHeader): Buffer {
  const header = Buffer.alloc(blockSize);
  const put = (value: string, start: number, length: number) => header.write(value, start, length, 'utf8');
  const number = (value: number, start: number, length: number) =>
    put(`${value.toString(8).padStart(length - 1, '0')}\0`, start, length);
  put(name, 0, 100);
  number(mode & 0o7777, 100, 8);
  number(0, 108, 8);
  number(0, 116, 8);
  number(size, 124, 12);
  number(0, 136, 12);
  put('        ', 148, 8);
  put(type, 156, 1);
  put(linkName, 157, 100);
  put('ustar\0', 257, 6);
  put('00', 263, 2);
  let sum = 0;
  for (const byte of header) sum += byte;
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8);
  return header;
}

/** Filled up to whole blocks. */
export function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc(padding(content.length))]);
}

/** Bytes behind content of that size. */
export function padding(size: number): number {
  return (blockSize - (size % blockSize)) % blockSize;
}

/** The members of a pax header that change the next entry. Throws a TarError. */
export function paxRecords(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  let at = 0;
  while (at < content.length) {
    const space = content.indexOf(32, at);
    const length = Number(content.toString('latin1', at, space < 0 ? at : space));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > content.length) {
      throw new TarError('tar contents corrupted');
    }
    const line = content.toString('utf8', space + 1, at + length - 1);
    const equals = line.indexOf('=');
    records.set(line.slice(0, equals), line.slice(equals + 1));
    at += length;
  }
  return records;
}
