/**
 * Rules of a value against its schema, as they hold for defaults and for custom resources. Verdicts, messages and their
 * selection are those of release 1.24 (k8s.io/kube-openapi, pkg/validation/validate): of several alternatives none of which
 * fits, the failures of that are told which fits best.
 *
 * Otherwise than there, lists are no texts of some format, and bounds with fractions hold for whole numbers, too.
 */

import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { formatCheck } from '#api/apiextensions/v1/values/formats.js';
import type { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { Verdict } from '#api/apiextensions/v1/values/verdict.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import {
  invalidType,
  invalidValue,
  notSupported,
  required,
  tooLongMaxLength,
  tooMany,
} from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** What values are checked with. */
export interface ValueRules {
  readonly dialect: Dialect;
  readonly patterns: PatternMatcher;
}

/** Where a value stands: its path, and its name as messages say it (relative to the value that was first asked about). */
interface Place {
  readonly path: FieldPath;
  readonly name: string;
}

/** All that is wrong with the value. Unknown fields are nobody's business here: they are pruned. */
export function validateValue(
  value: unknown,
  schema: JSONSchemaProps,
  rules: ValueRules,
  path: FieldPath,
): readonly FieldFailure[] {
  return new ValueValidator(rules, path).verdict(value, schema, { path, name: '' }).failures;
}

class ValueValidator {
  readonly #rules: ValueRules;
  /** Of the value that was first asked about: what no single field is to blame for is said of it. */
  readonly #root: FieldPath;

  constructor(rules: ValueRules, root: FieldPath) {
    this.#rules = rules;
    this.#root = root;
  }

  verdict(value: unknown, schema: JSONSchemaProps, place: Place): Verdict {
    const verdict = new Verdict();
    const { type = '', format = '' } = schema;
    const { intOrString } = extensionsOf(schema, this.#rules.dialect);
    const types = intOrString ? ['integer', 'string'] : type === '' ? [] : [type];
    const check = formatCheck(format);
    if (value === null) {
      if (types.length > 0 && schema.nullable !== true) this.#mustBe(verdict, place, types.join(','), 'null');
      this.#enumerated(verdict, value, schema, place);
      return verdict;
    }
    if (types.length > 0 || check !== undefined) {
      this.#typed(verdict, value, { types, format: check === undefined ? '' : format }, place);
      verdict.passed();
    }
    this.#combined(verdict, value, schema, place);
    verdict.passed();
    if (typeof value === 'string') {
      this.#text(verdict, value, schema, place);
      verdict.passed();
      if (check !== undefined) {
        if (!check(value)) this.#mustBe(verdict, place, format, value);
        verdict.passed();
      }
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      this.#number(verdict, value, schema, place);
      verdict.passed(2);
    } else if (Array.isArray(value)) {
      this.#list(verdict, value, schema, place);
      verdict.passed(2);
    }
    this.#enumerated(verdict, value, schema, place);
    verdict.passed();
    if (typeof value === 'object' && !Array.isArray(value)) {
      this.#object(verdict, value, schema, place);
      verdict.passed();
    }
    verdict.passed();
    return verdict;
  }

  #typed(
    verdict: Verdict,
    value: unknown,
    { types, format }: { readonly types: readonly string[]; readonly format: string },
    place: Place,
  ): void {
    const actual = typesOf(value);
    if (types.some((type) => actual.includes(type)) || (types.length === 0 && typeof value === 'string')) {
      verdict.passed();
    } else if (format !== '' && typeof value !== 'string' && !Array.isArray(value)) {
      this.#mustBe(verdict, place, format, numberFormat(value));
    } else this.#mustBe(verdict, place, types.join(','), actual[0] ?? '');
  }

  #mustBe(verdict: Verdict, { path, name }: Place, wanted: string, found: string): void {
    const text = `${name} in body must be of type ${wanted}: ${JSON.stringify(found)}`;
    verdict.add(invalidType(path, found, text), text);
  }

  #invalid(verdict: Verdict, { path, name }: Place, value: unknown, rule: string): void {
    const text = `${name} in body ${rule}`;
    verdict.add(invalidValue(path, value, text), text);
  }

  #enumerated(verdict: Verdict, value: unknown, { enum: values = [] }: JSONSchemaProps, { path, name }: Place): void {
    // Null is not in any list, even where the list has it.
    if (values.length === 0 || (value !== null && values.some((one) => jsonEqual(one, value)))) return;
    const texts = values.map((one) => (typeof one === 'string' ? one : toJSONText(one)));
    verdict.add(notSupported(path, value, texts), `${name} should be one of ${texts.join(' ')}`);
  }

  /** The first that is wrong. */
  #text(verdict: Verdict, value: string, { maxLength, minLength, pattern = '' }: JSONSchemaProps, place: Place): void {
    const length = maxLength === undefined && minLength === undefined ? 0 : characters(value);
    if (maxLength !== undefined && length > maxLength) {
      verdict.add(tooLongMaxLength(place.path, maxLength), `${place.name} should be at most ${maxLength} chars long`);
    } else if (minLength !== undefined && length < minLength) {
      this.#invalid(verdict, place, value, `should be at least ${minLength} chars long`);
    } else if (pattern !== '') {
      const matches = this.#rules.patterns.matches(pattern, value);
      if (matches === true) return;
      const why = matches === undefined ? ', and it takes too long to find out whether it does' : '';
      this.#invalid(verdict, place, value, `should match '${pattern}'${why}`);
    }
  }

  #number(verdict: Verdict, value: number | bigint, schema: JSONSchemaProps, place: Place): void {
    const { maximum, exclusiveMaximum = false, minimum, exclusiveMinimum = false, multipleOf } = schema;
    if (multipleOf !== undefined && multipleOf > 0 && !isMultiple(value, multipleOf)) {
      this.#invalid(verdict, place, value, `should be a multiple of ${multipleOf}`);
    }
    if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
      const rule = `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`;
      this.#invalid(verdict, place, value, rule);
    }
    if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
      this.#invalid(verdict, place, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
    }
  }

  #list(verdict: Verdict, value: readonly unknown[], schema: JSONSchemaProps, { path, name }: Place): void {
    const { maxItems, minItems, items } = schema;
    if (items !== undefined && !isList(items)) {
      for (const [i, element] of value.entries()) {
        verdict.merge(this.verdict(element, items, { path: path.index(i), name: `${name}[${i}]` }));
      }
    }
    if (minItems !== undefined && value.length < minItems) {
      this.#invalid(verdict, { path, name }, value.length, `should have at least ${minItems} items`);
    }
    if (maxItems !== undefined && value.length > maxItems) {
      verdict.add(tooMany(path, value.length, maxItems), `${name} should have at most ${maxItems} items`);
    }
  }

  #object(verdict: Verdict, value: object, schema: JSONSchemaProps, place: Place): void {
    const { properties = {}, additionalProperties, maxProperties, minProperties } = schema;
    const { path, name } = place;
    const names = Object.keys(value);
    // Nothing else is looked at then.
    if (minProperties !== undefined && names.length < minProperties) {
      this.#invalid(verdict, place, names.length, `should have at least ${minProperties} properties`);
      return;
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      const text = `${name} should have at most ${maxProperties} properties`;
      verdict.add(tooMany(path, names.length, maxProperties), text);
      return;
    }
    for (const key of names) {
      const element = (value as Readonly<Record<string, unknown>>)[key];
      const declared = Object.hasOwn(properties, key);
      const property = declared ? properties[key] : additionalProperties;
      if (typeof property !== 'object') continue;
      // Of a map that stands by itself a name begins with a dot.
      const inner = declared && name === '' ? key : `${name}.${key}`;
      verdict.merge(this.verdict(element, property, { path: path.child(key), name: inner }));
    }
    for (const key of schema.required ?? []) {
      if (!Object.hasOwn(value, key)) verdict.add(required(path.child(key)), `${name}.${key} in body is required`);
    }
  }

  #combined(verdict: Verdict, value: unknown, schema: JSONSchemaProps, place: Place): void {
    const { allOf = [], anyOf = [], oneOf = [], not } = schema;
    const judge = (part: JSONSchemaProps): Verdict => this.verdict(value, part, place);
    const say = (text: string): void => {
      const whole = `${JSON.stringify(place.name)} ${text}`;
      verdict.add(invalidValue(this.#root, '', whole), whole);
    };
    if (anyOf.length > 0) {
      const best = new Best();
      for (const part of anyOf) if (best.take(judge(part))) break;
      if (best.fitting === 0) say('must validate at least one schema (anyOf)');
      verdict.merge(best.verdict);
    }
    if (oneOf.length > 0) {
      const best = new Best();
      for (const part of oneOf) best.take(judge(part));
      if (best.fitting !== 1) {
        const found = best.fitting === 0 ? 'Found none valid' : `Found ${best.fitting} valid alternatives`;
        say(`must validate one and only one schema (oneOf). ${found}`);
      }
      if (best.fitting < 2) verdict.merge(best.verdict);
    }
    if (allOf.length > 0) {
      const parts = allOf.map(judge);
      for (const part of parts) verdict.merge(part);
      const fitting = parts.filter(({ isGood }) => isGood).length;
      if (fitting < parts.length) {
        say(`must validate all the schemas (allOf)${fitting === 0 ? '. None validated' : ''}`);
      }
    }
    if (not !== undefined && judge(not).isGood) say('must not validate the schema (not)');
    verdict.passed();
  }
}

/** Of the verdicts on alternatives the first good one, or else the one with most that is right. */
class Best {
  fitting = 0;
  #verdict: Verdict | undefined;

  get verdict(): Verdict {
    return this.#verdict ?? new Verdict();
  }

  /** Whether it is a good one. */
  take(verdict: Verdict): boolean {
    if (verdict.isGood) {
      this.fitting += 1;
      if (this.fitting === 1) this.#verdict = verdict;
      return true;
    }
    if (this.fitting === 0 && (this.#verdict === undefined || verdict.matches > this.#verdict.matches)) {
      this.#verdict = verdict;
    }
    return false;
  }
}

/** The schema types that a JSON value fits, the most particular first. */
function typesOf(value: unknown): string[] {
  if (Array.isArray(value)) return ['array'];
  if (isWhole(value)) return ['integer', 'number'];
  return [typeof value];
}

/** What a value is called that has no text, where a text of some format is wanted. */
function numberFormat(value: unknown): string {
  if (isWhole(value)) return 'int64';
  return typeof value === 'number' ? 'float64' : '';
}

function isWhole(value: unknown): boolean {
  return typeof value === 'bigint' || (typeof value === 'number' && isJSONInteger(value));
}

/** Relative: fractions are never exact. */
const tolerance = 1e-9;

/** 1.24 takes doubles that are next to an integer for one (123456789.125), but none beyond 2^53: integers there are bigints. */
function isJSONInteger(value: number): boolean {
  if (Number.isSafeInteger(value)) return true;
  if (value < 0 || value > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  return (value - whole) / (value + whole) < tolerance;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint')
    return Number.isInteger(factor) ? value % BigInt(factor) === 0n : isMultiple(Number(value), factor);
  if (Number.isSafeInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  return isJSONInteger(factor < 1 ? (1 / factor) * value : value / factor);
}
