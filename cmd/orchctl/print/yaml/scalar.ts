/** Writes scalars as go-yaml 2.4 does: plain, in single or double quotes, or as a literal block. Pure. */
import { isPlainText } from '#apimachinery/codec/yaml/resolve.js';
import { NumberLiteral } from '#apimachinery/json-text.js';
import { analyze } from '#cmd/orchctl/print/yaml/analyze.js';

export interface ScalarPlace {
  /** Columns in front of continuation lines. */
  readonly indent: number;
  /** Column of its first character. */
  readonly column: number;
  /** Keys stay on one line. */
  readonly isKey: boolean;
}

/** Lines break at a space behind this column. */
const bestWidth = 80;

const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

export function scalarText(value: unknown, place: ScalarPlace): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof NumberLiteral) return numberText(value.value);
  if (typeof value === 'number' || typeof value === 'bigint') return numberText(value);
  if (typeof value !== 'string') return String(value);
  const { blockAllowed, plainAllowed, singleAllowed } = analyze(value);
  if (value.includes('\n')) {
    if (blockAllowed && !place.isKey) return literal(value, place.indent);
    return doubleQuoted(value, place);
  }
  if (value !== '' && isPlainText(value) && !base60.test(value)) {
    if (plainAllowed) return folded(value, place, (part) => part);
    if (singleAllowed) {
      return `'${folded(value, { ...place, column: place.column + 1 }, (part) => part.replaceAll("'", "''"))}'`;
    }
  }
  return doubleQuoted(value, place);
}

/** Go's shortest form of a 64-bit float. */
function numberText(value: number | bigint): string {
  if (typeof value === 'bigint' || Number.isInteger(value))
    return Math.abs(Number(value)) < 1e21 ? BigInt(value).toString() : exponential(Number(value));
  const size = Math.abs(value);
  return size < 1e-4 || size >= 1e21 ? exponential(value) : String(value);
}

function exponential(value: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential().split('e');
  const digits = exponent.slice(1).padStart(2, '0');
  return `${mantissa}e${exponent.charAt(0)}${digits}`;
}

/** Breaks lines at single spaces behind the width. */
function folded(text: string, { column, indent, isKey }: ScalarPlace, escaped: (part: string) => string): string {
  let result = '';
  let at = column;
  let afterSpace = false;
  const characters = [...text];
  characters.forEach((character, i) => {
    const isInside = i > 0 && i < characters.length - 1;
    const breaks =
      character === ' ' && !isKey && !afterSpace && at > bestWidth && isInside && characters[i + 1] !== ' ';
    if (breaks) {
      result += `\n${' '.repeat(indent)}`;
      at = indent;
    } else {
      const part = escaped(character);
      result += part;
      at += part.length > 1 && character === "'" ? 2 : 1;
    }
    afterSpace = character === ' ';
  });
  return result;
}

const escapes: Readonly<Record<string, string>> = {
  ...{ '\0': '0', '\x07': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '\x1b': 'e' },
  ...{ '"': '"', '\\': '\\', '\x85': 'N', '\xa0': '_', '\u2028': 'L', '\u2029': 'P' },
};

const printable = /^[\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]$/u;

function doubleQuoted(text: string, { column, indent, isKey }: ScalarPlace): string {
  let result = '"';
  let at = column + 1;
  let afterSpace = false;
  const characters = [...text];
  const put = (part: string) => {
    result += part;
    at += [...part].length;
  };
  characters.forEach((character, i) => {
    if (character === ' ') {
      if (!isKey && !afterSpace && at > bestWidth && i > 0 && i < characters.length - 1) {
        result += `\n${' '.repeat(indent)}`;
        at = indent;
        if (characters[i + 1] === ' ') put('\\');
      } else put(' ');
      afterSpace = true;
      return;
    }
    put(quotedCharacter(character));
    afterSpace = false;
  });
  return `${result}"`;
}

function quotedCharacter(character: string): string {
  const isBreak = /^[\n\r\x85\u2028\u2029]$/.test(character);
  const isPlain = printable.test(character) && !isBreak && character !== '"' && character !== '\\';
  if (isPlain) return character;
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`;
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? '2' : '';
  const chomp = !text.endsWith('\n') ? '-' : text === '\n' || text.endsWith('\n\n') ? '+' : '';
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
  const space = ' '.repeat(indent);
  return `|${hint}${chomp}\n${lines.map((line) => (line === '' ? '' : `${space}${line}`)).join('\n')}`;
}
