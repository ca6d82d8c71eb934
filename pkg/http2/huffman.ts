/** Strings in HPACK's Huffman code (RFC 7541, 5.2 and appendix B). */

/**
 * Bits of each byte's code, the last one for the end of the string. The code is canonical, so the lengths say it all: codes
 * of one length follow each other in the order of their bytes, and shorter codes come first.
 */
const lengths = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  30,
];

const endOfString = 256;
const maxLength = 30;

/** What stands in the place of a code of each length: the first code, and the bytes of all of them. */
const rows = codeRows();

function codeRows(): { readonly first: number; readonly symbols: readonly number[] }[] {
  const made: { first: number; symbols: number[] }[] = [];
  let first = 0;
  for (let length = 0; length <= maxLength; length++) {
    const symbols: number[] = [];
    for (const [symbol, bits] of lengths.entries()) if (bits === length) symbols.push(symbol);
    made.push({ first, symbols });
    first = (first + symbols.length) * 2;
  }
  return made;
}

/** The string, each of its bytes one character; undefined when the bytes are no such code. */
export function decodeHuffman(bytes: Buffer): string | undefined {
  let text = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      length++;
      const { first, symbols } = rows[length] as (typeof rows)[number];
      const symbol = symbols[code - first];
      if (symbol === undefined) {
        if (length === maxLength) return undefined;
        continue;
      }
      if (symbol === endOfString) return undefined;
      text += String.fromCharCode(symbol);
      code = 0;
      length = 0;
    }
  }
  // What fills the last byte is the beginning of the end of the string: ones, fewer than a byte.
  return length < 8 && code === (1 << length) - 1 ? text : undefined;
}
