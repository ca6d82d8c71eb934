/** Rules of a value against its schema, as they hold for defaults and for custom resources. */
import type { PatternMatcher } from '#api/apiextensions/v1/customresourcedefinition/pattern.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  addAll,
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
): FieldFailure[] {
  return validateAt(value, schema, rules, { path, name: '' });
}

function validateAt(value: unknown, schema: JSONSchemaProps, rules: ValueRules, place: Place): FieldFailure[] {
  if (value === null && schema.nullable === true) return [];
  const failures = validateType(value, schema, rules, place);
  if (failures.length > 0) return failures;
  addAll(failures, validateEnum(value, schema, place));
  if (typeof value === 'string') addAll(failures, validateText(value, schema, rules, place));
  else if (typeof value === 'number') addAll(failures, validateNumber(value, schema, place));
  else if (Array.isArray(value)) addAll(failures, validateList(value, schema, rules, place));
  else if (typeof value === 'object' && value !== null) addAll(failures, validateObject(value, schema, rules, place));
  return [...failures, ...validateCombinations(value, schema, rules, place)];
}

function invalid({ path, name }: Place, value: unknown, rule: string): FieldFailure {
  return invalidValue(path, value, `${name} in body ${rule}`);
}

function child({ path, name }: Place, key: string): Place {
  return { path: path.child(key), name: name === '' ? key : `${name}.${key}` };
}

/** The schema types that a JSON value fits, the most particular first. */
function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}

function validateType(value: unknown, schema: JSONSchemaProps, rules: ValueRules, place: Place): FieldFailure[] {
  const type = schema.type ?? '';
  const wanted = extensionsOf(schema, rules.dialect).intOrString ? ['integer', 'string'] : type === '' ? [] : [type];
  const actual = typesOf(value);
  if (wanted.length === 0 || wanted.some((one) => actual.includes(one))) return [];
  return [invalid(place, actual[0], `must be of type ${wanted.join(',')}: "${actual[0]}"`)];
}

function validateEnum(value: unknown, { enum: values }: JSONSchemaProps, { path }: Place): FieldFailure[] {
  if (values === undefined || values.length === 0 || values.some((one) => semanticEqual(one, value))) return [];
  const texts = values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  return [notSupported(path, value, texts)];
}

function validateText(value: string, schema: JSONSchemaProps, { patterns }: ValueRules, place: Place): FieldFailure[] {
  const { maxLength, minLength, pattern = '', format = '' } = schema;
  const length = [...value].length;
  const failures: FieldFailure[] = [];
  if (maxLength !== undefined && length > maxLength) failures.push(tooLongMaxLength(place.path, maxLength));
  if (minLength !== undefined && length < minLength) {
    failures.push(invalid(place, value, `should be at least ${minLength} chars long`));
  }
  const matches = pattern === '' || patterns.matches(pattern, value);
  if (matches !== true) {
    const why = matches === undefined ? ', and it takes too long to find out whether it does' : '';
    failures.push(invalid(place, value, `should match '${pattern}'${why}`));
  }
  if (Object.hasOwn(formats, format) && formats[format]?.(value) === false) {
    failures.push(invalid(place, value, `must be of type ${format}: "${value}"`));
  }
  return failures;
}

/** Formats that can be told from the text alone; others are documentation. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': (text) =>
    /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?$/.test(text) &&
    !Number.isNaN(Date.parse(text)),
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
};

function validateNumber(value: number, schema: JSONSchemaProps, place: Place): FieldFailure[] {
  const { maximum, exclusiveMaximum = false, minimum, exclusiveMinimum = false, multipleOf } = schema;
  const failures: FieldFailure[] = [];
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    failures.push(invalid(place, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`));
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    failures.push(invalid(place, value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`));
  }
  if (multipleOf !== undefined && multipleOf > 0 && !Number.isInteger(value / multipleOf)) {
    failures.push(invalid(place, value, `should be a multiple of ${multipleOf}`));
  }
  return failures;
}

function validateList(value: unknown[], schema: JSONSchemaProps, rules: ValueRules, place: Place): FieldFailure[] {
  const { maxItems, minItems, items } = schema;
  const failures: FieldFailure[] = [];
  if (maxItems !== undefined && value.length > maxItems) failures.push(tooMany(place.path, value.length, maxItems));
  if (minItems !== undefined && value.length < minItems) {
    failures.push(invalid(place, value.length, `should have at least ${minItems} items`));
  }
  if (items === undefined || Array.isArray(items)) return failures;
  value.forEach((element, i) => {
    const at = { path: place.path.index(i), name: `${place.name}[${i}]` };
    addAll(failures, validateAt(element, items, rules, at));
  });
  return failures;
}

function validateObject(value: object, schema: JSONSchemaProps, rules: ValueRules, place: Place): FieldFailure[] {
  const { properties = {}, additionalProperties, maxProperties, minProperties } = schema;
  const count = Object.keys(value).length;
  const failures: FieldFailure[] = [];
  if (maxProperties !== undefined && count > maxProperties) failures.push(tooMany(place.path, count, maxProperties));
  if (minProperties !== undefined && count < minProperties) {
    failures.push(invalid(place, count, `should have at least ${minProperties} properties`));
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) failures.push(required(place.path.child(name)));
  }
  for (const [name, element] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (typeof property === 'object') addAll(failures, validateAt(element, property, rules, child(place, name)));
  }
  return failures;
}

function validateCombinations(
  value: unknown,
  schema: JSONSchemaProps,
  rules: ValueRules,
  place: Place,
): FieldFailure[] {
  const fits = (part: JSONSchemaProps): boolean => validateAt(value, part, rules, place).length === 0;
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const failures = allOf.flatMap((part) => validateAt(value, part, rules, place));
  const say = (text: string): void => {
    failures.push(invalidValue(place.path, '', `"${place.name}" ${text}`));
  };
  if (allOf.length > 0 && failures.length > 0) say('must validate all the schemas (allOf)');
  if (anyOf.length > 0 && !anyOf.some(fits)) say('must validate at least one schema (anyOf)');
  const valid = oneOf.filter(fits).length;
  if (oneOf.length > 0 && valid !== 1) {
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    say(`must validate one and only one schema (oneOf). ${found}`);
  }
  if (not !== undefined && fits(not)) say('must not validate the schema (not)');
  return failures;
}
