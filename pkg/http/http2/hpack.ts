/** Header blocks of HTTP/2 (RFC 7541). Reading is complete; writing uses no dynamic table. */
import { ConnectionError, resetCode } from '#http/http2/frames.js';
import { decodeHuffman } from '#http/http2/huffman.js';

export type HeaderField = readonly [name: string, value: string];

/** The bytes are not a header block, or belong to another connection state. */
export class HeaderBlockError extends ConnectionError {
  override readonly name = 'HeaderBlockError';

  constructor(message: string) {
    super(resetCode.COMPRESSION_ERROR, message);
  }
}

/** Size of the dynamic table: the protocol's default. */
const tableBytes = 4096;
/** Limit of the fields kept per block, counted like table entries: a short block may repeat a long entry many times. */
const mostListBytes = 256 * 1024;
/** Size of an entry besides its text. */
const entryOverhead = 32;
/** Limit of an encoded number's length; longer ones are an attack. */
const maxNumberShift = 28;

const otherStatuses = '206 304 400 404 500'.split(' ');
const staticTable: readonly HeaderField[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  ...otherStatuses.map((status): HeaderField => [':status', status]),
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...(
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control ' +
    'content-disposition content-encoding content-language content-length content-location content-range content-type ' +
    'cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since ' +
    'last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after ' +
    'server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate'
  )
    .split(' ')
    .map((name): HeaderField => [name, '']),
];

/** Reads a connection's header blocks, in order. */
export class HeaderDecoder {
  /** Newest last. */
  readonly #table: HeaderField[] = [];
  #tableSize = 0;
  #tableLimit = tableBytes;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #listBytes = 0;

  /** Size of the last block, counted as SETTINGS_MAX_HEADER_LIST_SIZE does. */
  get listBytes(): number {
    return this.#listBytes;
  }

  /** True if the last result omits fields of its block. */
  get truncated(): boolean {
    return this.#listBytes > mostListBytes;
  }

  /**
   * Fields in order, up to the size limit. The whole block is read anyway, because later blocks depend on it. Repeated
   * fields are the same arrays each time. Throws HeaderBlockErrors.
   */
  decode(block: Buffer): HeaderField[] {
    this.#bytes = block;
    this.#at = 0;
    const fields: HeaderField[] = [];
    let listBytes = 0;
    while (this.#at < block.length) {
      const first = block[this.#at] as number;
      if ((first & 0xe0) === 0x20) {
        if (fields.length > 0) throw new HeaderBlockError('table size update within a block');
        this.#resize(this.#number(5));
        continue;
      }
      const field = this.#field(first);
      listBytes += sizeOf(field);
      if (listBytes <= mostListBytes) fields.push(field);
    }
    this.#listBytes = listBytes;
    return fields;
  }

  #field(first: number): HeaderField {
    if (first & 0x80) return this.#entry(this.#number(7));
    return first & 0x40 ? this.#added(this.#literal(6)) : this.#literal(4);
  }

  #literal(prefixBits: number): HeaderField {
    const index = this.#number(prefixBits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #entry(index: number): HeaderField {
    const field =
      index <= staticTable.length
        ? staticTable[index - 1]
        : this.#table[this.#table.length - (index - staticTable.length)];
    if (field === undefined) throw new HeaderBlockError(`no header with index ${index}`);
    return field;
  }

  #added(field: HeaderField): HeaderField {
    this.#table.push(field);
    this.#tableSize += sizeOf(field);
    this.#evict();
    return field;
  }

  #resize(limit: number): void {
    if (limit > tableBytes) throw new HeaderBlockError(`table size ${limit} exceeds the limit`);
    this.#tableLimit = limit;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableSize > this.#tableLimit) this.#tableSize -= sizeOf(this.#table.shift() as HeaderField);
  }

  #string(): string {
    const huffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#number(7);
    const end = this.#at + length;
    if (end > this.#bytes.length) throw cutOff();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    const text = huffman ? decodeHuffman(bytes) : bytes.toString('latin1');
    if (text === undefined) throw new HeaderBlockError('invalid Huffman code');
    return text;
  }

  #number(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; shift < maxNumberShift; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new HeaderBlockError('number is too long');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw cutOff();
    return byte;
  }
}

/** Tells the reader to empty its dynamic table. */
export const emptyTable = Buffer.from([0x20]);

function sizeOf([name, value]: HeaderField): number {
  return name.length + value.length + entryOverhead;
}

function cutOff(): HeaderBlockError {
  return new HeaderBlockError('the header block is cut off');
}

/** Encodes fields independently of the connection's state. Names are in lower case; texts are Latin-1. */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map(([name, value]) => encodeField(name, value)));
}

/** Encodes one field; encoded fields can be concatenated. */
export function encodeField(name: string, value: string): Buffer {
  const whole = staticFields.get(`${name}\0${value}`);
  if (whole !== undefined) return Buffer.from([0x80 | whole]);
  // A literal that is not added to the table; its name is indexed if the static table has it.
  const index = staticNames.get(name);
  const nameBytes = index === undefined ? 1 + maxLengthBytes + name.length : 2;
  const bytes = Buffer.allocUnsafe(nameBytes + maxLengthBytes + value.length);
  let at = 0;
  if (index === undefined) {
    bytes[at++] = 0;
    at = writeString(bytes, at, name);
  } else if (index < nameMask) bytes[at++] = index;
  else {
    bytes[at++] = nameMask;
    bytes[at++] = index - nameMask;
  }
  return bytes.subarray(0, writeString(bytes, at, value));
}

/** Prefix mask of a literal's name index; no static index needs more than one further byte. */
const nameMask = 0x0f;
const staticFields: ReadonlyMap<string, number> = new Map(
  staticTable.map(([name, value], i) => [`${name}\0${value}`, i + 1]),
);
/** The first index of each name. */
const staticNames: ReadonlyMap<string, number> = new Map(
  staticTable.map(([name], i): [string, number] => [name, i + 1]).reverse(),
);

/** Longest encoding of a string's length. */
const maxLengthBytes = 5;

function writeString(target: Buffer, start: number, text: string): number {
  const mask = 0x7f;
  let at = start;
  if (text.length < mask) target[at++] = text.length;
  else {
    target[at++] = mask;
    let rest = text.length - mask;
    for (; rest > mask; rest >>>= 7) target[at++] = (rest & mask) | 0x80;
    target[at++] = rest;
  }
  return at + target.write(text, at, 'latin1');
}
