/** HPACK's Huffman code (RFC 7541, 5.2 and appendix B). */

/**
 * Code length of each byte; the last is for the end of string. The code is canonical, so lengths define it: codes of
 * equal length are consecutive in byte order, and shorter codes come first.
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
const byteBits = 8;

/** Number of values of four bits. */
const nibbles = 16;
/** A transition is one number: the next state (of 256) in the lowest bits, the decoded byte above it, and two flags. */
const stateBits = 8;
const stateMask = (1 << stateBits) - 1;
const symbolMask = 0xff;
/** A byte was decoded. */
const hasSymbol = 1 << 16;
/** The code is invalid. */
const refused = 1 << 17;

interface Table {
  readonly steps: Int32Array;
  /** Whether the string may end in a state: its bits are a prefix, shorter than a byte, of the end-of-string code. */
  readonly mayEnd: Uint8Array;
}

/** A state machine that consumes four bits at once. No code is shorter than five bits, so at most one ends per step. */
const table = makeTable();

/** Target of a bit: a later state, or a negative number for a complete symbol. */
type Branch = [zero: number, one: number];

function makeTable(): Table {
  const states = codeStates();
  const steps = new Int32Array(states.length * nibbles);
  for (let state = 0; state < states.length; state++) {
    for (let bits = 0; bits < nibbles; bits++) steps[state * nibbles + bits] = step(states, state, bits);
  }
  const mayEnd = new Uint8Array(states.length);
  for (let state = 0, length = 0; length < byteBits; length++) {
    mayEnd[state] = 1;
    state = states[state]?.[1] ?? 0;
  }
  return { steps, mayEnd };
}

/** One state per code prefix; the first is the empty prefix. */
function codeStates(): Branch[] {
  const states: Branch[] = [[0, 0]];
  let code = 0;
  for (let length = 1; length <= maxLength; length++) {
    code *= 2;
    for (const [symbol, bits] of lengths.entries()) if (bits === length) addCode(states, code++, length, symbol);
  }
  return states;
}

function addCode(states: Branch[], code: number, length: number, symbol: number): void {
  let branch = states[0] as Branch;
  for (let left = length - 1; left > 0; left--) {
    const bit = (code >>> left) & 1;
    if (branch[bit] === 0) branch[bit] = states.push([0, 0]) - 1;
    branch = states[branch[bit] as number] as Branch;
  }
  branch[code & 1] = -1 - symbol;
}

function step(states: readonly Branch[], from: number, bits: number): number {
  let state = from;
  let output = 0;
  for (let mask = nibbles >> 1; mask > 0; mask >>= 1) {
    const next = states[state]?.[(bits & mask) === 0 ? 0 : 1] ?? 0;
    state = Math.max(0, next);
    if (next >= 0) continue;
    const symbol = -1 - next;
    if (symbol === endOfString) return refused;
    output = hasSymbol | (symbol << stateBits);
  }
  return output | state;
}

/** Buffer for most strings. */
const scratch = Buffer.allocUnsafeSlow(8 * 1024);
const shortestCode = 5;

/** The decoded string, one character per byte; undefined if the code is invalid. */
export function decodeHuffman(bytes: Buffer): string | undefined {
  const { steps, mayEnd } = table;
  const most = Math.floor((bytes.length * byteBits) / shortestCode);
  const text = most <= scratch.length ? scratch : Buffer.allocUnsafe(most);
  let state = 0;
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    const high = steps[state * nibbles + (byte >> 4)] as number;
    if ((high & hasSymbol) !== 0) text[length++] = (high >> stateBits) & symbolMask;
    const low = steps[(high & stateMask) * nibbles + (byte & 15)] as number;
    if ((low & hasSymbol) !== 0) text[length++] = (low >> stateBits) & symbolMask;
    if (((high | low) & refused) !== 0) return undefined;
    state = low & stateMask;
  }
  return mayEnd[state] === 1 ? text.toString('latin1', 0, length) : undefined;
}
