/** Reads the server name of a TLS ClientHello (RFC 8446, section 4.1.2; RFC 6066, section 3). Pure. */

/** What the bytes of a connection show so far. */
export type HelloPrefix =
  | { readonly state: 'incomplete' }
  /** `serverName` is in lower case; undefined if there is none, or if the bytes are no ClientHello. */
  | { readonly state: 'complete'; readonly serverName: string | undefined };

/** What a client shows before its certificate is chosen. */
export interface Greeting {
  /** In lower case; undefined if the client names no server. */
  readonly serverName: string | undefined;
  /** The address that the client connected to, without IPv4 mapped to IPv6. */
  readonly address: string;
}

/** A longer message is left to the TLS library; key shares that resist quantum computers need up to 2 kB. */
export const maxHelloBytes = 32 * 1024;

const incomplete: HelloPrefix = { state: 'incomplete' };
const nameless: HelloPrefix = { state: 'complete', serverName: undefined };

const recordHead = 5;
const handshakeRecord = 22;
const clientHello = 1;
const serverNameExtension = 0;
const hostName = 0;

/** The server name in the first bytes that a client sends. Never throws: malformed bytes name no server. */
export function readHello(bytes: Buffer): HelloPrefix {
  const message = messageIn(bytes);
  if (message === undefined) return nameless;
  if (message === 'incomplete') return bytes.length >= maxHelloBytes ? nameless : incomplete;
  try {
    return { state: 'complete', serverName: serverNameIn(new Cursor(message)) };
  } catch {
    // A read after the end: the TLS library refuses the message in its words.
    return nameless;
  }
}

/** The body of the ClientHello, which may be spread over several records; undefined if this is none. */
function messageIn(bytes: Buffer): Buffer | 'incomplete' | undefined {
  const fragments: Buffer[] = [];
  let available = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord || (bytes[at + 1] ?? 3) !== 3) return undefined;
    if (at + recordHead > bytes.length) return 'incomplete';
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return undefined;
    const fragment = bytes.subarray(at + recordHead, at + recordHead + length);
    fragments.push(fragment);
    available += fragment.length;
    at += recordHead + length;
    if (available < 4) continue;
    const joined = fragments.length === 1 ? fragment : Buffer.concat(fragments);
    if (joined[0] !== clientHello) return undefined;
    const end = 4 + joined.readUIntBE(1, 3);
    if (end > maxHelloBytes) return undefined;
    if (available >= end) return joined.subarray(4, end);
  }
  return 'incomplete';
}

function serverNameIn(hello: Cursor): string | undefined {
  // Version and random number, session, cipher suites, compression methods.
  hello.skip(34);
  hello.skip(hello.uint8());
  hello.skip(hello.uint16());
  hello.skip(hello.uint8());
  if (hello.left === 0) return undefined;
  const extensions = new Cursor(hello.take(hello.uint16()));
  while (extensions.left > 0) {
    const type = extensions.uint16();
    const content = extensions.take(extensions.uint16());
    if (type === serverNameExtension) return hostNameIn(new Cursor(content));
  }
  return undefined;
}

function hostNameIn(content: Cursor): string | undefined {
  const names = new Cursor(content.take(content.uint16()));
  while (names.left > 0) {
    const type = names.uint8();
    const name = names.take(names.uint16()).toString('latin1');
    if (type === hostName) return /^[!-~]+$/.test(name) ? name.toLowerCase() : undefined;
  }
  return undefined;
}

/** Reads big-endian numbers; throws RangeError behind the end. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint16(): number {
    return this.take(2).readUInt16BE();
  }

  skip(length: number): void {
    this.take(length);
  }

  take(length: number): Buffer {
    if (length > this.left) throw new RangeError('the message ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
