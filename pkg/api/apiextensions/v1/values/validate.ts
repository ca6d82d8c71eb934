/**
 * Validates a value against its schema, for defaults and custom objects. Verdicts and messages are those of release
 * 1.24 (k8s.io/kube-openapi, pkg/validation/validate): if no alternative fits, the failures of the best one are
 * reported.
 *  Deviations: lists never count as formatted texts, and fractional bounds also apply to whole numbers.
 */

import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { formatCheck } from '#api/apiextensions/v1/values/formats.js';
import type { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { ValidationResult } from '#api/apiextensions/v1/values/validation-result.js';
import { ValidationWork } from '#api/apiextensions/v1/values/validation-work.js';
import { allSteps, type Steps } from '#apimachinery/async/steps.js';
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

/** Context of the validation. */
export interface ValueRules {
  readonly dialect: Dialect;
  readonly patterns: PatternMatcher;
  /** Shared by all validations of an object; absent: each has its own. */
  readonly work?: ValidationWork;
}

/** The place of a value: its path, and its name in messages (relative to the validated value). */
interface Place {
  readonly path: FieldPath;
  readonly name: string;
}

/** All failures of the value. Unknown fields are ignored: they are pruned. Throws TooManyChecks. */
export function validateValue(
  value: unknown,
  schema: JSONSchemaProps,
  rules: ValueRules,
  path: FieldPath,
): readonly FieldFailure[] {
  return allSteps(valueSteps(value, schema, rules, path));
}

/** `validateValue` in steps of a few milliseconds each. */
export function* valueSteps(
  value: unknown,
  schema: JSONSchemaProps,
  rules: ValueRules,
  path: FieldPath,
): Steps<readonly FieldFailure[]> {
  const { work = new ValidationWork() } = rules;
  const verdict = yield* new ValueValidator(rules, path, work).verdict(value, schema, { path, name: '' });
  return verdict.failures;
}

class ValueValidator {
  readonly #rules: ValueRules;
  /** The path of the validated value, for failures of no single field. */
  readonly #root: FieldPath;
  readonly #work: ValidationWork;

  constructor(rules: ValueRules, root: FieldPath, work: ValidationWork) {
    this.#rules = rules;
    this.#root = root;
    this.#work = work;
  }

  *verdict(value: unknown, schema: JSONSchemaProps, place: Place): Steps<ValidationResult> {
    if (isPlain(value, schema)) return this.#plain(value, schema, place);
    if (this.#work.pauses()) yield;
    this.#work.spend(1);
    const verdict = new ValidationResult();
    if (this.#nothing(verdict, value, schema, place)) return verdict;
    const format = this.#shape(verdict, value, schema, place);
    yield* this.#combined(verdict, value, schema, place);
    verdict.passed();
    if (Array.isArray(value)) {
      yield* this.#list(verdict, value, schema, place);
      verdict.passed(2);
    } else this.#scalar(verdict, value, schema, { place, format });
    this.#enumerated(verdict, value, schema, place);
    verdict.passed();
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      yield* this.#object(verdict, value, schema, place);
      verdict.passed();
    }
    verdict.passed();
    return verdict;
  }

  /** The verdict of most values, for which a generator would cost more than the checks. */
  #plain(value: unknown, schema: JSONSchemaProps, place: Place): ValidationResult {
    this.#work.spend(1);
    const verdict = new ValidationResult();
    if (this.#nothing(verdict, value, schema, place)) return verdict;
    const format = this.#shape(verdict, value, schema, place);
    verdict.passed(2);
    this.#scalar(verdict, value, schema, { place, format });
    this.#enumerated(verdict, value, schema, place);
    verdict.passed(2);
    return verdict;
  }

  /** True for null, with all its failures. */
  #nothing(verdict: ValidationResult, value: unknown, schema: JSONSchemaProps, place: Place): boolean {
    if (value !== null) return false;
    const types = typesIn(schema, this.#rules.dialect);
    if (types.length > 0 && schema.nullable !== true) this.#mustBe(verdict, place, types.join(','), 'null');
    this.#enumerated(verdict, value, schema, place);
    return true;
  }

  /** Checks the type. Returns the name of the format if it is checked, too; otherwise an empty text. */
  #shape(verdict: ValidationResult, value: unknown, schema: JSONSchemaProps, place: Place): string {
    const types = typesIn(schema, this.#rules.dialect);
    const format = formatCheck(schema.format ?? '') === undefined ? '' : (schema.format ?? '');
    if (types.length > 0 || format !== '') {
      this.#typed(verdict, value, { types, format }, place);
      verdict.passed();
    }
    return format;
  }

  #scalar(
    verdict: ValidationResult,
    value: unknown,
    schema: JSONSchemaProps,
    { place, format }: { readonly place: Place; readonly format: string },
  ): void {
    if (typeof value === 'string') {
      this.#text(verdict, value, schema, place);
      verdict.passed();
      const check = formatCheck(format);
      if (check === undefined) return;
      if (!check(value)) this.#mustBe(verdict, place, format, value);
      verdict.passed();
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      this.#number(verdict, value, schema, place);
      verdict.passed(2);
    }
  }

  #typed(
    verdict: ValidationResult,
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

  #mustBe(verdict: ValidationResult, { path, name }: Place, expected: string, actual: string): void {
    const text = `${name} in body must be of type ${expected}: ${JSON.stringify(actual)}`;
    verdict.add(invalidType(path, actual, text), text);
  }

  #invalid(verdict: ValidationResult, { path, name }: Place, value: unknown, rule: string): void {
    const text = `${name} in body ${rule}`;
    verdict.add(invalidValue(path, value, text), text);
  }

  #enumerated(
    verdict: ValidationResult,
    value: unknown,
    { enum: values = [] }: JSONSchemaProps,
    { path, name }: Place,
  ): void {
    this.#work.compare(values.length);
    // Null never matches an enum, even if the list contains it.
    if (values.length === 0 || (value !== null && values.some((one) => jsonEqual(one, value)))) return;
    const texts = values.map((one) => (typeof one === 'string' ? one : toJSONText(one)));
    verdict.add(notSupported(path, value, texts), `${name} should be one of ${texts.join(' ')}`);
  }

  /** Reports only the first violation. */
  #text(
    verdict: ValidationResult,
    value: string,
    { maxLength, minLength, pattern = '' }: JSONSchemaProps,
    place: Place,
  ): void {
    const length = maxLength === undefined && minLength === undefined ? 0 : characters(value);
    if (maxLength !== undefined && length > maxLength) {
      verdict.add(tooLongMaxLength(place.path, maxLength), `${place.name} should be at most ${maxLength} chars long`);
    } else if (minLength !== undefined && length < minLength) {
      this.#invalid(verdict, place, value, `should be at least ${minLength} chars long`);
    } else if (pattern !== '') {
      const { patterns } = this.#rules;
      const before = patterns.steps;
      const matches = patterns.matches(pattern, value);
      this.#work.match(patterns.steps - before);
      if (matches === true) return;
      const why = matches === undefined ? ', and it takes too long to find out whether it does' : '';
      this.#invalid(verdict, place, value, `should match '${pattern}'${why}`);
    }
  }

  #number(verdict: ValidationResult, value: number | bigint, schema: JSONSchemaProps, place: Place): void {
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

  *#list(
    verdict: ValidationResult,
    value: readonly unknown[],
    schema: JSONSchemaProps,
    { path, name }: Place,
  ): Steps<void> {
    const { maxItems, minItems, items } = schema;
    if (items !== undefined && !isList(items)) {
      for (const [i, element] of value.entries()) {
        if (this.#work.pauses()) yield;
        const place = { path: path.index(i), name: `${name}[${i}]` };
        const own = isPlain(element, items)
          ? this.#plain(element, items, place)
          : yield* this.verdict(element, items, place);
        verdict.merge(own);
      }
    }
    if (minItems !== undefined && value.length < minItems) {
      this.#invalid(verdict, { path, name }, value.length, `should have at least ${minItems} items`);
    }
    if (maxItems !== undefined && value.length > maxItems) {
      verdict.add(tooMany(path, value.length, maxItems), `${name} should have at most ${maxItems} items`);
    }
  }

  *#object(verdict: ValidationResult, value: object, schema: JSONSchemaProps, place: Place): Steps<void> {
    const { properties = {}, additionalProperties, maxProperties, minProperties } = schema;
    const { path, name } = place;
    const names = Object.keys(value);
    // Skips all other checks.
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
      // A name inside a top-level map begins with a dot.
      const inner = declared && name === '' ? key : `${name}.${key}`;
      if (this.#work.pauses()) yield;
      const within = { path: path.child(key), name: inner };
      const own = isPlain(element, property)
        ? this.#plain(element, property, within)
        : yield* this.verdict(element, property, within);
      verdict.merge(own);
    }
    this.#work.compare(schema.required?.length ?? 0);
    for (const key of schema.required ?? []) {
      if (Object.hasOwn(value, key)) continue;
      this.#work.spend(1);
      verdict.add(required(path.child(key)), `${name}.${key} in body is required`);
    }
  }

  *#combined(verdict: ValidationResult, value: unknown, schema: JSONSchemaProps, place: Place): Steps<void> {
    const { allOf = [], anyOf = [], oneOf = [], not } = schema;
    const say = (text: string): void => {
      const whole = `${JSON.stringify(place.name)} ${text}`;
      verdict.add(invalidValue(this.#root, '', whole), whole);
    };
    if (anyOf.length > 0) {
      const best = new Best();
      for (const part of anyOf) if (best.take(yield* this.verdict(value, part, place))) break;
      if (best.fitting === 0) say('must validate at least one schema (anyOf)');
      verdict.merge(best.verdict);
    }
    if (oneOf.length > 0) {
      const best = new Best();
      for (const part of oneOf) best.take(yield* this.verdict(value, part, place));
      if (best.fitting !== 1) {
        const summary = best.fitting === 0 ? 'Found none valid' : `Found ${best.fitting} valid alternatives`;
        say(`must validate one and only one schema (oneOf). ${summary}`);
      }
      if (best.fitting < 2) verdict.merge(best.verdict);
    }
    if (allOf.length > 0) {
      let fitting = 0;
      for (const part of allOf) {
        const own = yield* this.verdict(value, part, place);
        verdict.merge(own);
        if (own.isGood) fitting += 1;
      }
      if (fitting < allOf.length) {
        say(`must validate all the schemas (allOf)${fitting === 0 ? '. None validated' : ''}`);
      }
    }
    if (not !== undefined && (yield* this.verdict(value, not, place)).isGood) say('must not validate the schema (not)');
    verdict.passed();
  }
}

/** True for a value without parts that no alternative concerns. */
function isPlain(value: unknown, { allOf, anyOf, oneOf, not }: JSONSchemaProps): boolean {
  if (typeof value === 'object' && value !== null) return false;
  return allOf === undefined && anyOf === undefined && oneOf === undefined && not === undefined;
}

/** The types that a schema allows; empty for any. */
function typesIn(schema: JSONSchemaProps, dialect: Dialect): readonly string[] {
  const { type = '' } = schema;
  return extensionsOf(schema, dialect).intOrString ? intOrString : type === '' ? anyType : [type];
}

const intOrString: readonly string[] = ['integer', 'string'];
const anyType: readonly string[] = [];

/** Selects the first good result of several alternatives, or else the one with most matches. */
class Best {
  fitting = 0;
  #verdict: ValidationResult | undefined;

  get verdict(): ValidationResult {
    return this.#verdict ?? new ValidationResult();
  }

  /** Adds a result; true if it is good. */
  take(verdict: ValidationResult): boolean {
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

/** The schema types of a JSON value, most specific first. */
function typesOf(value: unknown): string[] {
  if (Array.isArray(value)) return ['array'];
  if (isWhole(value)) return ['integer', 'number'];
  return [typeof value];
}

/** The name of a non-text value's format in messages about formats. */
function numberFormat(value: unknown): string {
  if (isWhole(value)) return 'int64';
  return typeof value === 'number' ? 'float64' : '';
}

function isWhole(value: unknown): boolean {
  return typeof value === 'bigint' || (typeof value === 'number' && isJSONInteger(value));
}

/** Relative tolerance: fractions are never exact. */
const tolerance = 1e-9;

/** 1.24 accepts doubles next to an integer (123456789.125), but none beyond 2^53, where integers are bigints. */
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
