/**
 * Parses the Common Expression Language (CEL). Messages and positions equal those of 1.24, except for messages of its
 * generated parser. Source: github.com/google/cel-go v0.10, parser/parser.go.
 */
import { binaryOperators, call, constant, type Expr, join, operators } from '#apimachinery/cel/ast.js';
import { expandMacro } from '#apimachinery/cel/macros.js';
import { bytesValue, CelError, type Token, textValue, tokenize } from '#apimachinery/cel/tokens.js';
import { Uint } from '#apimachinery/cel/values.js';

/** Maximum nesting, as in other implementations. */
const maxDepth = 250;

const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

const maxInt = 9_223_372_036_854_775_807n;
const maxUint = 18_446_744_073_709_551_615n;

/** Throws a CelError. */
export function parseExpression(text: string): Expr {
  return new Parser(tokenize(text)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expr {
    const expr = this.#expression();
    if (this.#next.kind === 'end') return expr;
    const isLast = this.#tokens[this.#position + 1]?.kind === 'end';
    return this.#fail(isLast ? 'extraneous input' : 'mismatched input', ' expecting <EOF>');
  }

  get #next(): Token {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '<EOF>', offset: 0 };
  }

  get #last(): Token {
    return this.#tokens[this.#position - 1] ?? this.#next;
  }

  #fail(what: string, expecting = ''): never {
    const { text, offset } = this.#next;
    throw new CelError(`Syntax error: ${what} '${text}'${expecting}`, offset);
  }

  /** Consumes the symbol or keyword if it is next. */
  #take(...texts: string[]): boolean {
    const { kind, text } = this.#next;
    if ((kind !== 'symbol' && kind !== 'keyword') || !texts.includes(text)) return false;
    this.#position++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(`expecting '${text}', found`);
  }

  #deeper(): void {
    if (++this.#depth > maxDepth) this.#tooDeep();
  }

  #tooDeep(): never {
    throw new CelError(`expression recursion limit exceeded: ${maxDepth}`, this.#next.offset);
  }

  #expression(): Expr {
    this.#deeper();
    const condition = this.#logical(operators.or, '||');
    if (!this.#take('?')) {
      this.#depth--;
      return condition;
    }
    const { offset } = this.#last;
    const yes = this.#logical(operators.or, '||');
    this.#expect(':');
    const no = this.#expression();
    this.#depth--;
    return call(operators.conditional, [condition, yes, no], offset);
  }

  /** A chain of the same operator becomes a balanced tree. */
  #logical(fn: string, symbol: '||' | '&&'): Expr {
    const term = () => (symbol === '||' ? this.#logical(operators.and, '&&') : this.#binary(0));
    const terms = [term()];
    const offsets: number[] = [];
    while (this.#take(symbol)) {
      offsets.push(this.#last.offset);
      terms.push(term());
    }
    return join(fn, terms, offsets);
  }

  #binary(level: number): Expr {
    const symbols = levels[level];
    if (symbols === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    while (this.#take(...symbols)) {
      const { text, offset } = this.#last;
      left = call(binaryOperators[text] ?? text, [left, this.#binary(level + 1)], offset);
      if (left.depth > maxDepth) this.#tooDeep();
    }
    return left;
  }

  #unary(): Expr {
    const { text, offset, kind } = this.#next;
    if (kind !== 'symbol' || (text !== '!' && text !== '-')) return this.#member();
    const after = this.#tokens[this.#position + 1]?.kind;
    // The sign of a number literal, unless there are several signs.
    if (text === '-' && (after === 'int' || after === 'double')) return this.#member();
    let count = 0;
    while (this.#take(text)) count++;
    const operand = this.#member();
    return count % 2 === 0 ? operand : call(text === '!' ? operators.not : operators.negate, [operand], offset);
  }

  #member(): Expr {
    let expr = this.#primary();
    for (;;) {
      if (this.#take('.')) expr = this.#selection(expr);
      else if (this.#take('[')) {
        const { offset } = this.#last;
        const index = this.#expression();
        this.#expect(']');
        expr = call(operators.index, [expr, index], offset);
      } else if (this.#take('{')) expr = this.#message(expr);
      else return expr;
      if (expr.depth > maxDepth) this.#tooDeep();
    }
  }

  #selection(operand: Expr): Expr {
    const { offset } = this.#last;
    const { kind, text: field } = this.#next;
    if (kind === 'end') this.#fail('no viable alternative at input');
    if (kind !== 'identifier') this.#fail('mismatched input', ' expecting IDENTIFIER');
    this.#position++;
    if (!this.#take('(')) {
      return { kind: 'select', operand, field, test: false, offset, depth: operand.depth + 1 };
    }
    const at = this.#last.offset;
    return expandMacro(field, operand, this.#list(')'), at);
  }

  #primary(): Expr {
    const token = this.#next;
    this.#position++;
    switch (token.kind) {
      case 'int':
      case 'uint':
      case 'double':
        return number(token, '');
      case 'string':
        return constant(textValue(token), token.offset);
      case 'bytes':
        return constant(bytesValue(token), token.offset);
      case 'keyword':
        if (token.text !== 'in') return constant(token.text === 'null' ? null : token.text === 'true', token.offset);
        break;
      case 'identifier':
        return this.#name(token, '');
      case 'symbol':
        return this.#group(token);
      case 'end':
        break;
      default:
        token.kind satisfies never;
    }
    this.#position--;
    return this.#fail('mismatched input');
  }

  #group(token: Token): Expr {
    const next = this.#next;
    switch (token.text) {
      case '(': {
        const expr = this.#expression();
        this.#expect(')');
        return expr;
      }
      case '[': {
        const elements = this.#list(']');
        return { kind: 'list', elements, offset: token.offset, depth: depthOver(elements) };
      }
      case '{':
        return this.#entries(token.offset);
      case '-':
        if (next.kind !== 'int' && next.kind !== 'double') break;
        this.#position++;
        return number({ ...next, offset: token.offset }, '-');
      case '.':
        if (next.kind !== 'identifier') break;
        this.#position++;
        return this.#name(next, '.');
      default:
        break;
    }
    this.#position--;
    return this.#fail('mismatched input');
  }

  /** `dot`: set for a name that is resolved from the root. */
  #name({ text, offset }: Token, dot: '' | '.'): Expr {
    if (reserved.has(text)) throw new CelError(`reserved identifier: ${text}`, offset);
    if (this.#take('(')) {
      const at = this.#last.offset;
      return expandMacro(text, undefined, this.#list(')'), at);
    }
    return { kind: 'ident', name: dot + text, offset, depth: 1 };
  }

  /** Expressions up to the closing symbol; a trailing comma is allowed. */
  #list(close: string): Expr[] {
    const elements: Expr[] = [];
    if (this.#take(close)) return elements;
    do {
      if (close === ']' && this.#take(close)) return elements;
      elements.push(this.#expression());
    } while (this.#take(','));
    this.#expect(close);
    return elements;
  }

  #entries(offset: number): Expr {
    const entries: { key: Expr; value: Expr }[] = [];
    while (!this.#take('}')) {
      const key = this.#expression();
      this.#expect(':');
      entries.push({ key, value: this.#expression() });
      if (this.#take(',')) continue;
      this.#expect('}');
      break;
    }
    return { kind: 'map', entries, offset, depth: depthOver(entries.flatMap(({ key, value }) => [key, value])) };
  }

  /** A message literal. Rules can construct no messages, so its fields do not matter. */
  #message(type: Expr): Expr {
    const { offset } = this.#last;
    const name = qualifiedName(type);
    if (name === undefined) throw new CelError('expected a qualified name', type.offset);
    while (!this.#take('}')) {
      if (this.#next.kind !== 'identifier') this.#fail('mismatched input');
      this.#position++;
      this.#expect(':');
      this.#expression();
      if (this.#take(',')) continue;
      this.#expect('}');
      break;
    }
    return { kind: 'message', name, offset, depth: 1 };
  }
}

function depthOver(parts: readonly Expr[]): number {
  return 1 + parts.reduce((depth, part) => Math.max(depth, part.depth), 0);
}

function number({ kind, text, offset }: Token, sign: '' | '-'): Expr {
  if (kind === 'double') return constant(Number(sign + text), offset);
  const magnitude = BigInt(kind === 'uint' ? text.slice(0, -1) : text);
  const value = sign === '-' ? -magnitude : magnitude;
  if (kind === 'uint') {
    if (magnitude > maxUint) throw new CelError('invalid uint literal', offset);
    return constant(new Uint(value), offset);
  }
  if (value > maxInt || value < -maxInt - 1n) throw new CelError('invalid int literal', offset);
  return constant(value, offset);
}

/** `a.b.c`; undefined for other expressions. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** Binary operators from loosest to tightest. The grammar allows chained relations. */
const levels: readonly (readonly string[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];
