/** Directives, anchors and tags. */
import {
  type Cursor,
  isBlank,
  isBlankOrEnd,
  isBreak,
  isBreakOrEnd,
  isDigit,
  isWord,
} from '#apimachinery/codec/yaml/cursor.js';
import type { Mark, Token } from '#apimachinery/codec/yaml/tokens.js';
import { scanError } from '#apimachinery/codec/yaml/yaml-error.js';

function readWord(cursor: Cursor): string {
  let word = '';
  while (isWord(cursor.peek())) word += cursor.read();
  return word;
}

/** `%YAML 1.1` or `%TAG !x! prefix`, including the end of the line. */
export function scanDirective(cursor: Cursor): Token {
  const start = cursor.mark();
  cursor.skip();
  const name = readWord(cursor);
  if (name === '') throw scanError('could not find expected directive name', cursor, start);
  if (!isBlankOrEnd(cursor.peek())) throw scanError('found unexpected non-alphabetical character', cursor, start);
  let token: Token;
  if (name === 'YAML') token = scanVersion(cursor, start);
  else if (name === 'TAG') token = scanTagPrefix(cursor, start);
  else throw scanError('found unknown directive name', cursor, start);
  cursor.skipBlanks();
  cursor.skipComment();
  if (!isBreakOrEnd(cursor.peek())) throw scanError('did not find expected comment or line break', cursor, start);
  if (isBreak(cursor.peek())) cursor.readBreak();
  return token;
}

function scanVersion(cursor: Cursor, start: Mark): Token {
  cursor.skipBlanks();
  const major = scanNumber(cursor, start);
  if (cursor.peek() !== 0x2e) throw scanError("did not find expected digit or '.' character", cursor, start);
  cursor.skip();
  return { kind: 'version', start, major, minor: scanNumber(cursor, start) };
}

function scanNumber(cursor: Cursor, start: Mark): number {
  let digits = '';
  while (isDigit(cursor.peek())) {
    if (digits.length === 2) throw scanError('found extremely long version number', cursor, start);
    digits += cursor.read();
  }
  if (digits === '') throw scanError('did not find expected version number', cursor, start);
  return Number(digits);
}

function scanTagPrefix(cursor: Cursor, start: Mark): Token {
  cursor.skipBlanks();
  const handle = scanHandle(cursor, start);
  if (handle !== '!' && !(handle.length > 1 && handle.endsWith('!'))) {
    throw scanError("did not find expected '!'", cursor, start);
  }
  if (!isBlank(cursor.peek())) throw scanError('did not find expected whitespace', cursor, start);
  cursor.skipBlanks();
  const prefix = scanURI(cursor, start, '');
  if (!isBlankOrEnd(cursor.peek())) throw scanError('did not find expected whitespace or line break', cursor, start);
  return { kind: 'tagPrefix', start, handle, prefix };
}

const behindAnchor = new Set([...'?:,]}%@`'].map((character) => character.charCodeAt(0)));

/** `&name` or `*name`. */
export function scanAnchor(cursor: Cursor, kind: 'alias' | 'anchor'): Token {
  const start = cursor.mark();
  cursor.skip();
  const name = readWord(cursor);
  const next = cursor.peek();
  if (name === '' || !(isBlankOrEnd(next) || behindAnchor.has(next))) {
    throw scanError('did not find expected alphabetic or numeric character', cursor, start);
  }
  return { kind, start, name };
}

/** `!<uri>`, `!handle!suffix`, `!suffix` or `!`. */
export function scanTag(cursor: Cursor): Token {
  const start = cursor.mark();
  let handle = '';
  let suffix: string;
  if (cursor.peek(1) === 0x3c) {
    cursor.skip();
    cursor.skip();
    suffix = scanURI(cursor, start, '');
    if (cursor.peek() !== 0x3e) throw scanError("did not find the expected '>'", cursor, start);
    cursor.skip();
  } else {
    handle = scanHandle(cursor, start);
    if (handle.length > 1 && handle.endsWith('!')) suffix = scanURI(cursor, start, '');
    else {
      suffix = scanURI(cursor, start, handle);
      handle = '!';
      // The tag `!` alone.
      if (suffix === '') [handle, suffix] = ['', '!'];
    }
  }
  if (!isBlankOrEnd(cursor.peek())) throw scanError('did not find expected whitespace or line break', cursor, start);
  return { kind: 'tag', start, handle, suffix };
}

function scanHandle(cursor: Cursor, start: Mark): string {
  if (cursor.peek() !== 0x21) throw scanError("did not find expected '!'", cursor, start);
  const handle = cursor.read() + readWord(cursor);
  return cursor.peek() === 0x21 ? handle + cursor.read() : handle;
}

const ofURI = new Set([...";/?:@&=+$,.!~*'()[]%"].map((character) => character.charCodeAt(0)));

/** The rest of a URI; `head` was read as a handle and, except its first character, belongs to it. */
function scanURI(cursor: Cursor, start: Mark, head: string): string {
  let uri = head.slice(1);
  let any = head !== '';
  for (let code = cursor.peek(); isWord(code) || ofURI.has(code); code = cursor.peek()) {
    uri += code === 0x25 ? scanEscapes(cursor, start) : cursor.read();
    any = true;
  }
  if (!any) throw scanError('did not find expected tag URI', cursor, start);
  return uri;
}

/** The bytes of one escaped character as single characters: only ASCII matters. */
function scanEscapes(cursor: Cursor, start: Mark): string {
  let text = '';
  for (let left = 1; left > 0; left--) {
    const digits = String.fromCharCode(cursor.peek(1), cursor.peek(2));
    if (cursor.peek() !== 0x25 || !/^[0-9A-Fa-f]{2}$/.test(digits)) {
      throw scanError('did not find URI escaped octet', cursor, start);
    }
    const octet = Number.parseInt(digits, 16);
    if (text === '') {
      left = widthOf(octet);
      if (left === 0) throw scanError('found an incorrect leading UTF-8 octet', cursor, start);
    } else if (octet >> 6 !== 2) throw scanError('found an incorrect trailing UTF-8 octet', cursor, start);
    text += String.fromCharCode(octet);
    for (let i = 0; i < 3; i++) cursor.skip();
  }
  return text;
}

function widthOf(octet: number): number {
  if (octet < 0x80) return 1;
  if (octet >> 5 === 6) return 2;
  if (octet >> 4 === 14) return 3;
  return octet >> 3 === 30 ? 4 : 0;
}
