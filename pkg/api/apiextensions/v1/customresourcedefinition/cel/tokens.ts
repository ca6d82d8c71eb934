/** Tokens of the Common Expression Language (CEL). */

/** What is wrong with an expression, and where. */
export class CelError extends Error {
  override readonly name = 'CelError';
  /** Of the first character that does not fit, in UTF-16 units. */
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

/** Throws a CelError for a character that starts no token. Ends with a token of kind `end`. */
export function tokenize(text: string): Token[] {
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
    const found = pattern.exec(text)?.[0];
    if (found === undefined) continue;
    checkLiteral(kind, found, offset);
    return { kind: kind === 'identifier' && keywords.has(found) ? 'keyword' : kind, text: found, offset };
  }
  const rest = text.slice(offset, offset + 1);
  throw new CelError(`Syntax error: token recognition error at: '${rest}'`, offset);
}

const escapes = /\\(?:[abfnrtv\\'"`?]|x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})/g;
const maxInt = 9_223_372_036_854_775_807n;
const maxUint = 18_446_744_073_709_551_615n;

function checkLiteral(kind: TokenKind | 'space', text: string, offset: number): void {
  if ((kind === 'string' || kind === 'bytes') && !/^[bB]?[rR]/.test(text) && text.replace(escapes, '').includes('\\')) {
    throw new CelError(`Syntax error: token recognition error at: '${text}'`, offset);
  }
  if (kind === 'int' && BigInt(text) > maxInt + 1n) throw new CelError('invalid int literal', offset);
  if (kind === 'uint' && BigInt(text.slice(0, -1)) > maxUint) throw new CelError('invalid uint literal', offset);
}
