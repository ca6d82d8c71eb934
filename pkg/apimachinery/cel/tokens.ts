/** Tokens of the Common Expression Language (CEL). */

/** An error in an expression with its position. */
export class CelError extends Error {
  override readonly name = 'CelError';
  /** The first invalid character, in UTF-16 units. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export type TokenKind = 'identifier' | 'keyword' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'symbol' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

/** Maximum length of an expression, as in other implementations. */
const maxLength = 100_000;

const keywords = new Set(['true', 'false', 'null', 'in']);

const patterns: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['space', /(?:[\t\n\f\r ]+|\/\/[^\n]*)+/y],
  ['bytes', /(?:[bB][rR]|[rR][bB])(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y],
  ['string', /[rR](?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y],
  ['bytes', /[bB](?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*')/y],
  ['string', /(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*')/y],
  ['double', /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y],
  ['uint', /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ['int', /(?:0x[0-9a-fA-F]+|\d+)/y],
  ['identifier', /[A-Za-z_]\w*/y],
  ['symbol', /(?:&&|\|\||[=!<>]=|[<>!?:.,()[\]{}+\-*/%])/y],
];

/** Throws a CelError for a character that starts no token. The last token has the kind `end`. */
export function tokenize(text: string): Token[] {
  if (text.length > maxLength) {
    throw new CelError(`expression code point size exceeds limit: size: ${text.length}, limit ${maxLength}`, 0);
  }
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < text.length) {
    const token = tokenAt(text, offset);
    if (token.kind !== 'space') tokens.push({ ...token, kind: token.kind });
    offset += token.text.length;
  }
  return [...tokens, { kind: 'end', text: '<EOF>', offset }];
}

function tokenAt(text: string, offset: number): { kind: TokenKind | 'space'; text: string; offset: number } {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = offset;
    const match = pattern.exec(text)?.[0];
    if (match === undefined) continue;
    checkLiteral(kind, match, offset);
    return { kind: kind === 'identifier' && keywords.has(match) ? 'keyword' : kind, text: match, offset };
  }
  const rest = text.slice(offset, offset + 1);
  throw new CelError(`Syntax error: token recognition error at: '${rest}'`, offset);
}

const escapes = /\\(?:[abfnrtv\\'"`?]|x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})/g;

function checkLiteral(kind: TokenKind | 'space', text: string, offset: number): void {
  if ((kind === 'string' || kind === 'bytes') && !/^[bB]?[rR]/.test(text) && text.replace(escapes, '').includes('\\')) {
    throw new CelError(`Syntax error: token recognition error at: '${text}'`, offset);
  }
}

const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The value of a text literal. Throws a CelError for invalid code points. */
export function textValue({ text, offset }: Token): string {
  const { raw, body } = bodyOf(text);
  if (raw) return body;
  return body.replace(escapes, (sequence) => {
    const code = codeOf(sequence);
    if (code === undefined) return simple[sequence.slice(1)] ?? sequence.slice(1);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw new CelError('invalid unicode code point', offset);
    return String.fromCodePoint(code);
  });
}

/** The value of a bytes literal: an escape is a single byte. */
export function bytesValue({ text }: Token): Uint8Array {
  const { raw, body } = bodyOf(text.slice(1));
  if (raw) return Buffer.from(body, 'utf8');
  const parts: Buffer[] = [];
  let from = 0;
  for (const { 0: sequence, index } of body.matchAll(escapes)) {
    parts.push(Buffer.from(body.slice(from, index), 'utf8'));
    const code = codeOf(sequence);
    if (code === undefined) parts.push(Buffer.from(simple[sequence.slice(1)] ?? sequence.slice(1), 'utf8'));
    else if (/^\\[uU]/.test(sequence)) parts.push(Buffer.from(String.fromCodePoint(code), 'utf8'));
    else parts.push(Buffer.from([code]));
    from = index + sequence.length;
  }
  parts.push(Buffer.from(body.slice(from), 'utf8'));
  return Buffer.concat(parts);
}

function bodyOf(text: string): { raw: boolean; body: string } {
  const raw = /^[rR]/.test(text);
  const quoted = (raw ? text.slice(1) : text).replace(/\r\n?/g, '\n');
  const quotes = /^("""|''')/.test(quoted) ? 3 : 1;
  return { raw, body: quoted.slice(quotes, -quotes) };
}

/** The code of a numeric escape. */
function codeOf(sequence: string): number | undefined {
  if (/^\\[xXuU]/.test(sequence)) return Number.parseInt(sequence.slice(2), 16);
  return /^\\[0-7]/.test(sequence) ? Number.parseInt(sequence.slice(1), 8) : undefined;
}
