/**
 * Splits YAML text into tokens like the library of release 1.24 (go-yaml 2.4, a port of libyaml). Its rules for keys
 * decide which documents are valid, even where they differ from the YAML specification.
 */
import { Cursor, end, isBlankOrEnd, isBreak } from '#apimachinery/codec/yaml/cursor.js';
import { scanAnchor, scanDirective, scanTag } from '#apimachinery/codec/yaml/directives.js';
import { scanBlock, scanPlain, scanQuoted } from '#apimachinery/codec/yaml/scalars.js';
import type { Mark, Token } from '#apimachinery/codec/yaml/tokens.js';
import { scanError } from '#apimachinery/codec/yaml/yaml-error.js';

/** The possible start of a key without `?`: it becomes a key if `:` follows. */
interface PossibleKey {
  possible: boolean;
  /** Only a key may stand here. */
  readonly required: boolean;
  /** Number of its first token. */
  readonly token: number;
  readonly mark: Mark;
}

/** Consumed tokens before the queue is compacted. */
const keptTokens = 256;

/** Maximum characters between the start of such a key and its colon. */
const maxKeyLength = 1024;

const start: Mark = { index: 0, line: 0, column: 0 };

const startsNoPlain = new Set([end, ...[...' \t-?:,[]{}#&*!|>\'"%@`'].map((character) => character.charCodeAt(0))]);

export class Scanner {
  readonly #cursor: Cursor;
  readonly #maxDepth: number;
  readonly #queue: Token[] = [];
  #head = 0;
  /** Number of consumed tokens. Starts at one for the stream start token of 1.24. */
  #consumed = 1;
  #indent = -1;
  readonly #indents: number[] = [];
  #flowLevel = 0;
  #keyAllowed = true;
  /** The possible key of each bracket level. */
  readonly #keys: PossibleKey[] = [{ possible: false, required: false, token: 0, mark: start }];
  /** Indexes in `#keys` by token number. */
  readonly #keysByToken = new Map<number, number>();
  #isReady = false;

  /** Throws a YamlError. `maxDepth`: of brackets and indentation. */
  constructor(text: string, maxDepth: number) {
    this.#cursor = new Cursor(text);
    this.#maxDepth = maxDepth;
  }

  /** The next token, without consuming it. Throws a YamlError. */
  peek(): Token {
    if (!this.#isReady) {
      while (this.#needsMore()) this.#scan();
      this.#isReady = true;
    }
    return this.#queue[this.#head] as Token;
  }

  /** Consumes the current token. */
  next(): void {
    this.#isReady = false;
    this.#consumed++;
    this.#head++;
    if (this.#head === this.#queue.length && this.#head > keptTokens) {
      this.#queue.length = 0;
      this.#head = 0;
    }
  }

  /** The first token of the queue may still turn out to start a key. */
  #needsMore(): boolean {
    if (this.#head === this.#queue.length) return true;
    const place = this.#keysByToken.get(this.#consumed);
    const key = place === undefined ? undefined : this.#keys[place];
    return key !== undefined && this.#isValid(key);
  }

  #add(token: Token): void {
    this.#queue.push(token);
  }

  /** Inserts a token before the token with that number, or appends it if that one was consumed. */
  #insert(token: Token, number: number): void {
    const place = number - this.#consumed;
    if (place < 0) this.#queue.push(token);
    else this.#queue.splice(this.#head + place, 0, token);
  }

  #indicator(kind: 'flowEntry' | 'blockEntry' | 'key' | 'value'): void {
    this.#add({ kind, start: this.#cursor.mark() });
    this.#cursor.skip();
  }

  #scan(): void {
    const cursor = this.#cursor;
    this.#skipToToken();
    this.#unroll(cursor.column);
    const code = cursor.peek();
    if (code === end) return this.#streamEnd();
    if (cursor.column === 0 && code === 0x25) return this.#directive();
    if (cursor.isAtDocumentIndicator()) return this.#document(code === 0x2d ? 'documentStart' : 'documentEnd');
    const isApart = isBlankOrEnd(cursor.peek(1));
    switch (code) {
      case 0x5b: // [
        return this.#flowStart('flowSequenceStart');
      case 0x7b: // {
        return this.#flowStart('flowMappingStart');
      case 0x5d: // ]
        return this.#flowEnd('flowSequenceEnd');
      case 0x7d: // }
        return this.#flowEnd('flowMappingEnd');
      case 0x2c: // ,
        this.#removeKey();
        this.#keyAllowed = true;
        return this.#indicator('flowEntry');
      case 0x2d: // -
        if (isApart) return this.#blockEntry();
        break;
      case 0x3f: // ?
        if (this.#flowLevel > 0 || isApart) return this.#key();
        break;
      case 0x3a: // :
        if (this.#flowLevel > 0 || isApart) return this.#value();
        break;
      case 0x2a: // *
        return this.#node(() => scanAnchor(cursor, 'alias'));
      case 0x26: // &
        return this.#node(() => scanAnchor(cursor, 'anchor'));
      case 0x21: // !
        return this.#node(() => scanTag(cursor));
      case 0x7c: // |
      case 0x3e: // >
        if (this.#flowLevel === 0) return this.#block(code === 0x7c);
        break;
      case 0x27: // '
      case 0x22: // "
        return this.#node(() => ({ kind: 'scalar', start: cursor.mark(), value: scanQuoted(cursor), plain: false }));
    }
    if (!this.#startsPlain(code)) throw scanError('found character that cannot start any token', cursor);
    this.#plain();
  }

  #startsPlain(code: number): boolean {
    if (!startsNoPlain.has(code)) return true;
    const next = this.#cursor.peek(1);
    if (code === 0x2d) return next !== 0x20 && next !== 0x09;
    return this.#flowLevel === 0 && (code === 0x3f || code === 0x3a) && !isBlankOrEnd(next);
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      for (let code = cursor.peek(); code === 0x20 || (code === 0x09 && this.#skipsTabs()); code = cursor.peek()) {
        cursor.skip();
      }
      cursor.skipComment();
      if (!isBreak(cursor.peek())) return;
      cursor.readBreak();
      if (this.#flowLevel === 0) this.#keyAllowed = true;
    }
  }

  #skipsTabs(): boolean {
    return this.#flowLevel > 0 || !this.#keyAllowed;
  }

  #isValid(key: PossibleKey): boolean {
    if (!key.possible) return false;
    if (key.mark.line === this.#cursor.line && key.mark.index + maxKeyLength >= this.#cursor.index) return true;
    if (key.required) throw this.#withoutColon(key);
    key.possible = false;
    return false;
  }

  #withoutColon({ mark }: PossibleKey): Error {
    return scanError("could not find expected ':'", this.#cursor, mark);
  }

  #lastKey(): PossibleKey {
    return this.#keys.at(-1) as PossibleKey;
  }

  /** Number of the next queued token. */
  #nextNumber(): number {
    return this.#consumed + this.#queue.length - this.#head;
  }

  #saveKey(): void {
    const { column } = this.#cursor;
    if (!this.#keyAllowed) return;
    const required = this.#flowLevel === 0 && this.#indent === column;
    const token = this.#nextNumber();
    this.#removeKey();
    const place = this.#keys.length - 1;
    this.#keys[place] = { possible: true, required, token, mark: this.#cursor.mark() };
    this.#keysByToken.set(token, place);
  }

  #removeKey(): void {
    const key = this.#lastKey();
    if (!key.possible) return;
    if (key.required) throw this.#withoutColon(key);
    key.possible = false;
    this.#keysByToken.delete(key.token);
  }

  /** Begins a block at a new column; `before`: number of its first token, default: the next one. */
  #roll(column: number, kind: 'blockSequenceStart' | 'blockMappingStart', mark: Mark, before?: number): void {
    if (this.#flowLevel > 0 || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    this.#checkDepth(this.#indents.length);
    if (before === undefined) this.#add({ kind, start: mark });
    else this.#insert({ kind, start: mark }, before);
  }

  #checkDepth(depth: number): void {
    if (depth > this.#maxDepth) throw scanError(`exceeded max depth of ${this.#maxDepth}`, this.#cursor);
  }

  #unroll(column: number): void {
    if (this.#flowLevel > 0) return;
    while (this.#indent > column) {
      this.#add({ kind: 'blockEnd', start: this.#cursor.mark() });
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  /** Ends all blocks and any possible key. */
  #endBlocks(): void {
    this.#unroll(-1);
    this.#removeKey();
    this.#keyAllowed = false;
  }

  #streamEnd(): void {
    const cursor = this.#cursor;
    if (cursor.column !== 0) {
      cursor.column = 0;
      cursor.line++;
    }
    this.#endBlocks();
    this.#add({ kind: 'streamEnd', start: cursor.mark() });
  }

  #directive(): void {
    this.#endBlocks();
    this.#add(scanDirective(this.#cursor));
  }

  #document(kind: 'documentStart' | 'documentEnd'): void {
    this.#endBlocks();
    this.#add({ kind, start: this.#cursor.mark() });
    for (let i = 0; i < 3; i++) this.#cursor.skip();
  }

  #flowStart(kind: 'flowSequenceStart' | 'flowMappingStart'): void {
    this.#saveKey();
    this.#keys.push({ possible: false, required: false, token: this.#nextNumber(), mark: this.#cursor.mark() });
    this.#flowLevel++;
    this.#checkDepth(this.#flowLevel);
    this.#keyAllowed = true;
    this.#add({ kind, start: this.#cursor.mark() });
    this.#cursor.skip();
  }

  #flowEnd(kind: 'flowSequenceEnd' | 'flowMappingEnd'): void {
    this.#removeKey();
    if (this.#flowLevel > 0) {
      this.#flowLevel--;
      // For empty brackets this is the number of the opening one: 1.24 no longer treats it as a possible key.
      this.#keysByToken.delete(this.#lastKey().token);
      this.#keys.pop();
    }
    this.#keyAllowed = false;
    this.#add({ kind, start: this.#cursor.mark() });
    this.#cursor.skip();
  }

  #blockEntry(): void {
    const cursor = this.#cursor;
    if (this.#flowLevel === 0) {
      if (!this.#keyAllowed) throw scanError('block sequence entries are not allowed in this context', cursor);
      this.#roll(cursor.column, 'blockSequenceStart', cursor.mark());
    }
    this.#removeKey();
    this.#keyAllowed = true;
    this.#indicator('blockEntry');
  }

  #key(): void {
    const cursor = this.#cursor;
    if (this.#flowLevel === 0) {
      if (!this.#keyAllowed) throw scanError('mapping keys are not allowed in this context', cursor);
      this.#roll(cursor.column, 'blockMappingStart', cursor.mark());
    }
    this.#removeKey();
    this.#keyAllowed = this.#flowLevel === 0;
    this.#indicator('key');
  }

  #value(): void {
    const cursor = this.#cursor;
    const key = this.#lastKey();
    if (this.#isValid(key)) {
      this.#insert({ kind: 'key', start: key.mark }, key.token);
      this.#roll(key.mark.column, 'blockMappingStart', key.mark, key.token);
      key.possible = false;
      this.#keysByToken.delete(key.token);
      this.#keyAllowed = false;
    } else {
      if (this.#flowLevel === 0) {
        if (!this.#keyAllowed) throw scanError('mapping values are not allowed in this context', cursor);
        this.#roll(cursor.column, 'blockMappingStart', cursor.mark());
      }
      this.#keyAllowed = this.#flowLevel === 0;
    }
    this.#indicator('value');
  }

  /** Scans a node that may be a key, but not precede one. */
  #node(scan: () => Token): void {
    this.#saveKey();
    this.#keyAllowed = false;
    this.#add(scan());
  }

  #plain(): void {
    const cursor = this.#cursor;
    this.#saveKey();
    this.#keyAllowed = false;
    const mark = cursor.mark();
    const { value, endsLine } = scanPlain(cursor, { indent: this.#indent, inFlow: this.#flowLevel > 0 });
    this.#add({ kind: 'scalar', start: mark, value, plain: true });
    if (endsLine) this.#keyAllowed = true;
  }

  #block(literal: boolean): void {
    const cursor = this.#cursor;
    this.#removeKey();
    this.#keyAllowed = true;
    const mark = cursor.mark();
    const value = scanBlock(cursor, { indent: this.#indent, literal });
    this.#add({ kind: 'scalar', start: mark, value, plain: false });
  }
}
