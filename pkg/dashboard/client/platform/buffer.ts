/** The little of Node.js' Buffer that answers use: the bytes of certificates. The bundler puts it in its place. */
class Bytes extends Uint8Array {
  /** In Latin-1. */
  override toString(): string {
    return Array.from(this, (byte) => String.fromCharCode(byte)).join('');
  }
}

export const Buffer = {
  /** Like Node.js, it takes what it can of malformed base64: here nothing. */
  from(text: string, encoding?: 'base64'): Uint8Array {
    if (encoding === undefined) return Bytes.from(new TextEncoder().encode(text));
    try {
      return Bytes.from(atob(text), (letter) => letter.charCodeAt(0));
    } catch {
      return new Bytes();
    }
  },
};
