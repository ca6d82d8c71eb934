/**
 * Field selectors: `status.phase!=Running,spec.nodeName=n1`. Implements the language of release 1.24
 * (apimachinery/pkg/fields/selector.go); each resource's strategy knows its selectable fields.
 */
import { badRequest } from '#apimachinery/errors/status.js';

export interface FieldTerm {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** All terms for one field: a selector of thousands of terms names few fields. */
interface FieldTest {
  /** Several values are contradictory. */
  readonly equal: Set<string>;
  readonly unequal: Set<string>;
}

function testsOf(terms: readonly FieldTerm[]): Map<string, FieldTest> {
  const tests = new Map<string, FieldTest>();
  for (const { field, operator, value } of terms) {
    const test = tests.get(field) ?? { equal: new Set(), unequal: new Set() };
    tests.set(field, test);
    (operator === '=' ? test.equal : test.unequal).add(value);
  }
  return tests;
}

/** Values of an object's selectable fields; an absent value counts as empty. */
export type FieldValues = Readonly<Record<string, string | undefined>>;

/** A conjunction of terms. Immutable. */
export class FieldSelector {
  readonly terms: readonly FieldTerm[];
  #tests: ReadonlyMap<string, FieldTest> | undefined;

  constructor(terms: readonly FieldTerm[]) {
    this.terms = terms;
  }

  get isEverything(): boolean {
    return this.terms.length === 0;
  }

  matches(fields: FieldValues): boolean {
    this.#tests ??= testsOf(this.terms);
    for (const [field, { equal, unequal }] of this.#tests) {
      const actual = (Object.hasOwn(fields, field) ? fields[field] : undefined) ?? '';
      if (unequal.has(actual) || (equal.size > 0 && !(equal.size === 1 && equal.has(actual)))) return false;
    }
    return true;
  }

  /** The only value that `field` may have; undefined if there may be several. */
  exactValue(field: string): string | undefined {
    return this.terms.find((term) => term.field === field && term.operator === '=')?.value;
  }

  /** Throws 400 BadRequest for the first field that is not `supported`, with the message of `refusal`. */
  requireFields(
    supported: (field: string) => boolean,
    refusal: (field: string) => string = (field) => `field label not supported: ${field}`,
  ): void {
    for (const { field } of this.terms) {
      if (!supported(field)) throw badRequest(refusal(field));
    }
  }

  toString(): string {
    return this.terms.map((term) => `${term.field}${term.operator}${escapeFieldValue(term.value)}`).join(',');
  }
}

export const everyField = new FieldSelector([]);

/** Escapes `\`, `,` and `=` of a value with a backslash. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

function unescapeFieldValue(text: string): string {
  let value = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === ',' || character === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    }
    if (character !== '\\') {
      value += character;
      continue;
    }
    const next = text.charAt(++at);
    if (next !== '\\' && next !== ',' && next !== '=') {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${next}`);
    }
    value += next;
  }
  return value;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') at++;
    else if (character === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** Parses a selector; empty text matches everything. Throws 400 BadRequest. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text === '') return everyField;
  const terms: FieldTerm[] = [];
  for (const part of splitTerms(text).sort()) {
    if (part === '') continue;
    const match = /!=|==|=/.exec(part);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    terms.push({
      field: part.slice(0, match.index),
      operator: match[0] === '!=' ? '!=' : '=',
      value: unescapeFieldValue(part.slice(match.index + match[0].length)),
    });
  }
  return new FieldSelector(terms);
}
