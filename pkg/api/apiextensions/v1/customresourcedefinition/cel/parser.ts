/**
 * Parser of the Common Expression Language (CEL): tells whether an expression is one, which names it uses, and what
 * sort of value it plainly gives. It evaluates nothing.
 */
import { CelError, type Token, tokenize } from '#api/apiextensions/v1/customresourcedefinition/cel/tokens.js';

/** Names of the environment: variables and functions. */
export interface CelEnvironment {
  readonly variables: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
}

/** What an expression gives as far as its form alone says it. */
export type CelSort = 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'list' | 'map' | 'null' | 'unknown';

export interface ParsedExpression {
  readonly sort: CelSort;
  readonly variables: ReadonlySet<string>;
}

/** The nesting that other implementations take. */
const maxDepth = 250;

/** Macros whose first argument is a variable for the second. */
const comprehensions = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** Throws a CelError. */
export function parseExpression(text: string, environment: CelEnvironment): ParsedExpression {
  const parser = new Parser(tokenize(text), environment);
  const sort = parser.whole();
  return { sort, variables: parser.used };
}

class Parser {
  readonly used = new Set<string>();
  readonly #tokens: readonly Token[];
  readonly #environment: CelEnvironment;
  /** Variables of the macros around, innermost last. */
  readonly #bound: string[] = [];
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], environment: CelEnvironment) {
    this.#tokens = tokens;
    this.#environment = environment;
  }

  whole(): CelSort {
    const sort = this.#expression();
    if (this.#next.kind !== 'end') this.#fail('extraneous input');
    return sort;
  }

  get #next(): Token {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '<EOF>', offset: 0 };
  }

  #fail(what: string): never {
    const { text, offset } = this.#next;
    throw new CelError(`Syntax error: ${what} '${text}'`, offset);
  }

  /** Takes the symbol or keyword when it is next. */
  #take(...texts: string[]): boolean {
    const { kind, text } = this.#next;
    if ((kind !== 'symbol' && kind !== 'keyword') || !texts.includes(text)) return false;
    this.#position++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(`expecting '${text}', found`);
  }

  #expression(): CelSort {
    if (++this.#depth > maxDepth) {
      throw new CelError(`expression recursion limit exceeded: ${maxDepth}`, this.#next.offset);
    }
    const sort = this.#binary(0);
    if (!this.#take('?')) {
      this.#depth--;
      return sort;
    }
    const yes = this.#binary(0);
    this.#expect(':');
    const no = this.#expression();
    this.#depth--;
    return yes === no ? yes : 'unknown';
  }

  #binary(level: number): CelSort {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let sort = this.#binary(level + 1);
    while (this.#take(...operators.symbols)) {
      const right = this.#binary(level + 1);
      sort = operators.gives ?? (sort === right ? sort : 'unknown');
    }
    return sort;
  }

  #unary(): CelSort {
    if (this.#take('!')) {
      while (this.#take('!'));
      this.#member();
      return 'bool';
    }
    while (this.#take('-'));
    return this.#member();
  }

  #member(): CelSort {
    let sort = this.#primary();
    for (;;) {
      if (this.#take('.')) {
        const { kind, text } = this.#next;
        if (kind !== 'identifier') this.#fail('no viable alternative at input');
        this.#position++;
        sort = this.#take('(') ? this.#call(text, true) : 'unknown';
      } else if (this.#take('[')) {
        this.#expression();
        this.#expect(']');
        sort = 'unknown';
      } else if (this.#take('{')) {
        this.#fields();
        sort = 'unknown';
      } else return sort;
    }
  }

  #primary(): CelSort {
    const token = this.#next;
    this.#position++;
    switch (token.kind) {
      case 'int':
      case 'uint':
      case 'double':
      case 'string':
      case 'bytes':
        return token.kind;
      case 'keyword':
        if (token.text !== 'in') return token.text === 'null' ? 'null' : 'bool';
        break;
      case 'identifier':
        return this.#name(token);
      case 'symbol':
        return this.#group(token);
      default:
        break;
    }
    this.#position--;
    return this.#fail('mismatched input');
  }

  #group(token: Token): CelSort {
    switch (token.text) {
      case '(': {
        const sort = this.#expression();
        this.#expect(')');
        return sort;
      }
      case '[':
        this.#list(']');
        return 'list';
      case '{':
        this.#entries();
        return 'map';
      case '.':
        if (this.#next.kind === 'identifier') {
          this.#position++;
          return this.#name(this.#tokens[this.#position - 1] ?? token);
        }
        break;
      default:
        break;
    }
    this.#position--;
    return this.#fail('mismatched input');
  }

  #name({ text, offset }: Token): CelSort {
    if (this.#take('(')) return this.#call(text, false);
    if (reserved.has(text)) throw new CelError(`reserved identifier: ${text}`, offset);
    if (!this.#bound.includes(text)) {
      if (!this.#environment.variables.has(text)) this.#undeclared(text, offset);
      this.used.add(text);
    }
    return 'unknown';
  }

  #undeclared(name: string, offset: number): never {
    throw new CelError(`undeclared reference to '${name}' (in container '')`, offset);
  }

  /** After the opening parenthesis. */
  #call(name: string, onValue: boolean): CelSort {
    const { offset } = this.#tokens[this.#position - 2] ?? this.#next;
    if (onValue && comprehensions.has(name)) return this.#comprehension(name);
    if (name === 'has' && !onValue) {
      this.#member();
      this.#expect(')');
      return 'bool';
    }
    if (!this.#environment.functions.has(name)) this.#undeclared(name, offset);
    this.#list(')');
    return 'unknown';
  }

  #comprehension(name: string): CelSort {
    const { kind, text, offset } = this.#next;
    this.#position++;
    if (kind !== 'identifier' || this.#next.text !== ',') throw new CelError('argument is not an identifier', offset);
    this.#bound.push(text);
    let parts = 1;
    while (this.#take(',')) {
      this.#expression();
      parts++;
    }
    this.#expect(')');
    this.#bound.pop();
    if (parts < 2 || parts > (name === 'map' ? 3 : 2)) this.#undeclared(name, offset);
    return name === 'map' || name === 'filter' ? 'list' : 'bool';
  }

  /** Values up to the closing symbol. A list may end with a comma. */
  #list(close: string): void {
    if (this.#take(close)) return;
    do {
      if (close === ']' && this.#take(close)) return;
      this.#expression();
    } while (this.#take(','));
    this.#expect(close);
  }

  #entries(): void {
    while (!this.#take('}')) {
      this.#expression();
      this.#expect(':');
      this.#expression();
      if (this.#take(',')) continue;
      this.#expect('}');
      return;
    }
  }

  #fields(): void {
    while (!this.#take('}')) {
      if (this.#next.kind !== 'identifier') this.#fail('mismatched input');
      this.#position++;
      this.#expect(':');
      this.#expression();
      if (this.#take(',')) continue;
      this.#expect('}');
      return;
    }
  }
}

/** From the loosest to the tightest. Relations may be chained, as the grammar has it. */
const levels: readonly { readonly symbols: readonly string[]; readonly gives?: CelSort }[] = [
  { symbols: ['||'], gives: 'bool' },
  { symbols: ['&&'], gives: 'bool' },
  { symbols: ['==', '!=', '<', '<=', '>', '>=', 'in'], gives: 'bool' },
  { symbols: ['+', '-'] },
  { symbols: ['*', '/', '%'] },
];
