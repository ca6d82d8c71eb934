/**
 * The text form of label selectors: `app=web,tier in (front, back),!canary`. Grammar and messages of release 1.24
 * (apimachinery/pkg/labels/selector.go).
 */
import { badRequest, statusOf } from '#apimachinery/errors/status.js';
import type { LabelOperator, LabelRequirement } from '#apimachinery/selectors/label-requirement.js';
import { everything, LabelSelector, makeRequirement } from '#apimachinery/selectors/labels.js';

interface Token {
  readonly kind: 'word' | 'symbol' | 'end' | 'error';
  readonly text: string;
}

const symbols = new Set([')', ',', '!', '==', '=', '>', '<', '!=', '(']);
const symbolCharacters = '=!(),><';
const white = ' \t\r\n';
const end: Token = { kind: 'end', text: '' };

/** Longest symbol at `at`: 1.24 consumes symbol characters while they form one. */
function readSymbol(text: string, at: number): Token {
  let symbol = '';
  let read = '';
  for (let i = at; i < text.length && symbolCharacters.includes(text.charAt(i)); i++) {
    read += text.charAt(i);
    if (symbols.has(read)) symbol = read;
    else if (symbol !== '') break;
  }
  return symbol === ''
    ? { kind: 'error', text: `error expected: keyword found '${read}'` }
    : { kind: 'symbol', text: symbol };
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (white.includes(character)) {
      at++;
    } else if (symbolCharacters.includes(character)) {
      const token = readSymbol(text, at);
      tokens.push(token);
      if (token.kind === 'error') break;
      at += token.text.length;
    } else {
      const start = at;
      while (at < text.length && !white.includes(text.charAt(at)) && !symbolCharacters.includes(text.charAt(at))) at++;
      tokens.push({ kind: 'word', text: text.slice(start, at) });
    }
  }
  tokens.push(end);
  return tokens;
}

const operators: Readonly<Record<string, LabelOperator>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  in: 'in',
  notin: 'notin',
  '>': 'gt',
  '<': 'lt',
};
const operatorNames = 'in, notin, =, ==, !=, gt, lt';

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  #look(): Token {
    return this.#tokens[this.#at] ?? end;
  }

  #take(): Token {
    const token = this.#look();
    this.#at++;
    return token;
  }

  #sees(symbol: string): boolean {
    const token = this.#look();
    return token.kind === 'symbol' && token.text === symbol;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const token = this.#look();
      if (token.kind === 'end') return requirements;
      if (token.kind !== 'word' && !this.#sees('!')) {
        throw badRequest(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.kind === 'end') return requirements;
      if (next.kind !== 'symbol' || next.text !== ',') {
        throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
      }
      if (this.#look().kind !== 'word' && !this.#sees('!')) {
        throw badRequest(`found '${this.#look().text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): LabelRequirement {
    try {
      return this.#parseRequirement();
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      throw badRequest(`unable to parse requirement: ${status.message ?? ''}`, error);
    }
  }

  #parseRequirement(): LabelRequirement {
    const negated = this.#sees('!');
    if (negated) this.#take();
    const key = this.#take();
    if (key.kind !== 'word') throw badRequest(`found '${key.text}', expected: identifier`);
    // Checks the key first, so that its error is the one reported.
    makeRequirement(key.text, 'exists', []);
    if (negated) return makeRequirement(key.text, '!', []);
    if (this.#look().kind === 'end' || this.#sees(',')) return makeRequirement(key.text, 'exists', []);
    const token = this.#take();
    const operator = Object.hasOwn(operators, token.text) ? operators[token.text] : undefined;
    if (operator === undefined) throw badRequest(`found '${token.text}', expected: ${operatorNames}`);
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#exactValue()];
    return makeRequirement(key.text, operator, [...new Set(values)].sort());
  }

  #exactValue(): string {
    if (this.#look().kind === 'end' || this.#sees(',')) return '';
    const token = this.#take();
    if (token.kind !== 'word') throw badRequest(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  /** `(a, b)`; an empty place between commas or next to a parenthesis is the empty value. */
  #values(): string[] {
    const open = this.#take();
    if (open.kind !== 'symbol' || open.text !== '(') throw badRequest(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    for (;;) {
      const token = this.#look();
      if (token.kind === 'word') values.push(this.#take().text);
      else if (this.#sees(',') || this.#sees(')')) values.push('');
      else throw badRequest(`found '${token.text}', expected: ',', ')' or identifier`);
      const next = this.#take();
      if (next.kind === 'symbol' && next.text === ')') return values;
      if (next.kind !== 'symbol' || next.text !== ',') throw badRequest(`found '${next.text}', expected: ',' or ')'`);
    }
  }
}

/** Parses a selector; empty text matches everything. Throws 400 BadRequest. */
export function parseLabelSelector(text: string): LabelSelector {
  const requirements = new Parser(text).parse();
  return requirements.length === 0 ? everything : new LabelSelector(requirements);
}
