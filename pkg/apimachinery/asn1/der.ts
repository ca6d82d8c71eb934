/**
 * The subset of ASN.1 DER (X.690) for certificates and certificate requests. Nested calls write; readers walk a buffer
 * without copying.
 *  Not @peculiar/x509, although it supports the fields of 1.24: bundled, it costs 50 ms more CPU at each start and 10
 *  MB more memory than this code with all its users. It also needs a polyfill that extends the global `Reflect`, and
 *  WebCrypto keys where all other code uses key objects.
 */

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Bytes that are not DER of the expected form. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

/** An element with tag, length and contents. */
export function element(tagByte: number, ...contents: readonly Buffer[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tagByte]), lengthBytes(length), ...contents]);
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => element(tag.sequence, ...parts);
export const set = (...parts: readonly Buffer[]): Buffer => element(tag.set, ...parts);
export const octetString = (bytes: Buffer): Buffer => element(tag.octetString, bytes);
export const utf8String = (text: string): Buffer => element(tag.utf8String, Buffer.from(text, 'utf8'));
export const nullValue = (): Buffer => element(tag.null);
export const trueValue = (): Buffer => element(tag.boolean, Buffer.from([0xff]));
/** Whole bytes: no unused bits. */
export const bitString = (bytes: Buffer): Buffer => element(tag.bitString, Buffer.from([0]), bytes);
/** `[n]` around a whole element. */
export const explicit = (n: number, ...parts: readonly Buffer[]): Buffer => element(0xa0 | n, ...parts);
/** `[n]` in place of a primitive element's tag. */
export const implicit = (n: number, bytes: Buffer): Buffer => element(0x80 | n, bytes);

/** A non-negative integer from its big-endian bytes. */
export function unsignedInteger(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const trimmed = bytes.subarray(start);
  const needsZero = trimmed.length === 0 || ((trimmed[0] ?? 0) & 0x80) !== 0;
  return element(tag.integer, needsZero ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed);
}

/** `2.5.4.3` as an object identifier. */
export function oid(dotted: string): Buffer {
  const arcs = dotted.split('.').map(Number);
  const [first = 0, second = 0, ...rest] = arcs;
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const groups = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) groups.unshift((left % 128) | 0x80);
    bytes.push(...groups);
  }
  return element(tag.oid, Buffer.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime after (RFC 5280 4.1.2.5). Drops fractions of a second. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, '');
  if (Number(digits.slice(0, 4)) < 2050) return element(tag.utcTime, Buffer.from(`${digits.slice(2)}Z`, 'latin1'));
  return element(tag.generalizedTime, Buffer.from(`${digits}Z`, 'latin1'));
}

/** A parsed element. */
export interface DerElement {
  readonly tag: number;
  /** Contents without tag and length. */
  readonly contents: Buffer;
  /** The whole element. */
  readonly bytes: Buffer;
}

/** The consecutive elements of a buffer. Throws a `DerError`. */
function readElements(buffer: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  let offset = 0;
  while (offset < buffer.length) {
    const next = readElement(buffer, offset);
    elements.push(next);
    offset += next.bytes.length;
  }
  return elements;
}

function readElement(buffer: Buffer, start: number): DerElement {
  const tagByte = buffer[start];
  const first = buffer[start + 1];
  if (tagByte === undefined || first === undefined) throw new DerError('truncated element');
  if ((tagByte & 0x1f) === 0x1f) throw new DerError('tags of several bytes are not supported');
  let length = first;
  let at = start + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError('unsupported length');
    if (at + count > buffer.length) throw new DerError('truncated length');
    length = buffer.readUIntBE(at, count);
    at += count;
  }
  if (at + length > buffer.length) throw new DerError('element is longer than its surroundings');
  return { tag: tagByte, contents: buffer.subarray(at, at + length), bytes: buffer.subarray(start, at + length) };
}

/** The elements inside a SEQUENCE, or another `expected` tag. Throws a `DerError` for a different tag. */
export function children(parent: DerElement | undefined, expected: number = tag.sequence): DerElement[] {
  if (parent === undefined) throw new DerError('element is missing');
  if (parent.tag !== expected)
    throw new DerError(`expected tag 0x${expected.toString(16)}, found 0x${parent.tag.toString(16)}`);
  return readElements(parent.contents);
}

/** The single element that fills the whole buffer. */
export function readOne(buffer: Buffer): DerElement {
  const result = readElement(buffer, 0);
  if (result.bytes.length !== buffer.length) throw new DerError('trailing bytes');
  return result;
}

/** The dotted form of an object identifier's contents. */
export function oidText(contents: Buffer): string {
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of contents) {
    if (arc > 2 ** 40) throw new DerError('object identifier is too large');
    arc = arc * 128 + (byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    if (arcs.length === 0) {
      const top = Math.min(2, Math.floor(arc / 40));
      arcs.push(top, arc - top * 40);
    } else arcs.push(arc);
    arc = 0;
  }
  return arcs.join('.');
}

/** The text of a string type that names use. */
export function stringText(value: DerElement): string {
  switch (value.tag) {
    case tag.utf8String:
      return value.contents.toString('utf8');
    case tag.printableString:
    case tag.ia5String:
    case tag.teletexString:
      return value.contents.toString('latin1');
    case tag.bmpString: {
      // Big-endian UTF-16; an odd last byte is not part of a character.
      const even = Buffer.from(value.contents.subarray(0, value.contents.length & ~1));
      return even.swap16().toString('utf16le');
    }
    default:
      throw new DerError(`tag 0x${value.tag.toString(16)} is no string`);
  }
}
