/**
 * Random structural schemas and random values: validation must agree with a reference validator of JSON schemas, for
 * which extensions of definitions are translated.
 */

import { Ajv, type ValidateFunction } from 'ajv';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { validateValue } from '#api/apiextensions/v1/values/validate.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { isList } from '#apimachinery/is-list.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export interface SchemaFuzzReport {
  readonly inputs: number;
  /** Values that fit their schemas. */
  readonly fitting: number;
}

const names = ['a', 'b', 'c', 'dé', 'constructor'];
const texts = ['', 'a', 'ab', 'abc', '12', 'x-1', 'ünï', '𝒳𝒴', 'toString'];
const patterns = ['^a', 'b$', '^[a-z]*$', '^\\d+$', '-'];
/**
 * Excludes factors below 1, by which 1.24 multiplies, and products beyond 2^53, which are a multiple of nothing there.
 */
const numbers = [-3, -1, 0, 1, 2, 3, 4, 10, 0.5, 1.5, 0.3, -2.25, 1e14];
const valuesPerSchema = 40;
const maxDepth = 3;

/** Runs until `goesOn` returns false; it receives the number of values. Throws with the failing schema and value. */
export function fuzzSchemas(seed: number, goesOn: (inputs: number) => boolean): SchemaFuzzReport {
  const making = new Making(seededRandom(seed));
  const ajv = new Ajv({ strict: false, ownProperties: true, multipleOfPrecision: 9, logger: false });
  const compiled = new Patterns();
  let inputs = 0;
  let fitting = 0;
  while (goesOn(inputs)) {
    const schema = making.schema(0);
    const reference: ValidateFunction = ajv.compile(inReferenceWords(schema));
    for (let i = 0; i < valuesPerSchema; i++) {
      const value = making.value(schema, 0);
      const rules = { dialect, patterns: new PatternMatcher(compiled) };
      const failures = validateValue(value, schema, rules, FieldPath.ofWhole);
      const fits = failures.length === 0;
      if (fits !== reference(value)) {
        const said = fits ? JSON.stringify(reference.errors) : failures.map(({ message }) => message).join('; ');
        throw new Error(`SEED=${seed}: ${JSON.stringify(value)} against ${JSON.stringify(schema)}: ${said}`);
      }
      inputs += 1;
      if (fits) fitting += 1;
    }
    // Drops compiled schemas.
    ajv.removeSchema();
  }
  return { inputs, fitting };
}

/**
 * Translates features that JSON Schema expresses differently: exclusive bounds by a flag, nullable types, and
 * integer-or-string.
 */
function inReferenceWords(schema: JSONSchemaProps): object {
  const { nullable, exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...same } = schema;
  const { 'x-orch-int-or-string': intOrString, properties, items, additionalProperties, not, ...rest } = same;
  const { allOf, anyOf, oneOf, enum: values, ...plain } = rest;
  const all = (parts: readonly JSONSchemaProps[] | undefined) => parts?.map(inReferenceWords);
  const translated = {
    ...plain,
    ...(intOrString === true ? { type: ['integer', 'string'] } : {}),
    ...(minimum === undefined ? {} : { [exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum']: minimum }),
    ...(maximum === undefined ? {} : { [exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum']: maximum }),
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, one]) => [name, inReferenceWords(one)]),
          ),
        }),
    ...(typeof items === 'object' && !isList(items) ? { items: inReferenceWords(items) } : {}),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: inReferenceWords(additionalProperties) }
      : {}),
    ...(not === undefined ? {} : { not: inReferenceWords(not) }),
    ...(allOf === undefined ? {} : { allOf: all(allOf) }),
    ...(anyOf === undefined ? {} : { anyOf: all(anyOf) }),
    ...(oneOf === undefined ? {} : { oneOf: all(oneOf) }),
  };
  // For null only type and enum are checked, and no enum contains null.
  const typed = plain.type !== undefined || intOrString === true;
  if (values !== undefined || (typed && nullable !== true)) return translated;
  return { anyOf: [{ type: 'null' }, translated] };
}

type Type = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'map' | 'either';

const scalars: readonly Type[] = ['string', 'integer', 'number', 'boolean', 'either'];

/** Generates schemas, and values of which about half fit. */
class Making {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  schema(depth: number): JSONSchemaProps {
    const type = this.#pick(depth < maxDepth ? [...scalars, 'array', 'object', 'object', 'map'] : scalars) as Type;
    const schema: Replaceable<JSONSchemaProps> = this.#typed(type, depth);
    if (this.#chance(0.15)) schema.nullable = true;
    if (this.#chance(0.25)) this.#combine(schema, depth);
    return schema;
  }

  #typed(type: Type, depth: number): JSONSchemaProps {
    switch (type) {
      case 'array':
        return { type, items: this.schema(depth + 1), ...this.#bounds('minItems', 'maxItems', 3) };
      case 'object':
        return {
          type,
          ...this.#fields(() => this.schema(depth + 1)),
          ...this.#bounds('minProperties', 'maxProperties', 4),
        };
      case 'map':
        return {
          type: 'object',
          additionalProperties: this.schema(depth + 1),
          ...this.#bounds('minProperties', 'maxProperties', 3),
        };
      case 'either':
        return { 'x-orch-int-or-string': true, ...this.#checks() };
      default:
        return { type, ...this.#checks() };
    }
  }

  /** Constraints for any value, which apply only to values of some type. */
  #checks(): JSONSchemaProps {
    const checks: Replaceable<JSONSchemaProps> = {};
    if (this.#chance(0.2)) Object.assign(checks, this.#bounds('minLength', 'maxLength', 3));
    if (this.#chance(0.2)) checks.pattern = this.#pick(patterns);
    if (this.#chance(0.2)) checks.enum = [...new Set([this.#pick(texts), this.#scalar(), this.#scalar()])];
    if (this.#chance(0.2)) checks.multipleOf = this.#pick([1, 2, 3, 0.5, 0.1]);
    if (this.#chance(0.2))
      Object.assign(checks, { minimum: this.#pick([-2, 0, 1, 1.5]), exclusiveMinimum: this.#chance(0.5) });
    if (this.#chance(0.2))
      Object.assign(checks, { maximum: this.#pick([0, 2, 3, 2.5]), exclusiveMaximum: this.#chance(0.5) });
    return checks;
  }

  /** Parts of a combination have no types of their own. */
  #combine(schema: Replaceable<JSONSchemaProps>, depth: number): void {
    const parts = () => Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.#part(depth));
    const kind = this.#pick(['allOf', 'anyOf', 'oneOf', 'not'] as const);
    if (kind === 'not') schema.not = this.#part(depth);
    else schema[kind] = parts();
  }

  #part(depth: number): JSONSchemaProps {
    const part: JSONSchemaProps = this.#chance(0.6) ? this.#checks() : this.#fields(() => this.#checks());
    if (depth < maxDepth && this.#chance(0.2)) this.#combine(part, depth + 1);
    return part;
  }

  #fields(make: () => JSONSchemaProps): JSONSchemaProps {
    const properties = Object.fromEntries(names.filter(() => this.#chance(0.5)).map((name) => [name, make()]));
    const required = names.filter(() => this.#chance(0.15));
    return { properties, ...(required.length === 0 ? {} : { required }) };
  }

  #bounds(least: string, most: string, limit: number): JSONSchemaProps {
    return {
      ...(this.#chance(0.3) ? { [least]: Math.floor(this.#random() * limit) } : {}),
      ...(this.#chance(0.3) ? { [most]: Math.floor(this.#random() * (limit + 1)) } : {}),
    };
  }

  value(schema: JSONSchemaProps, depth: number): unknown {
    if (this.#chance(0.06)) return this.#anything(depth);
    if (this.#chance(0.05) || (schema.nullable === true && this.#chance(0.2))) return null;
    if (schema.enum !== undefined && this.#chance(0.6)) return this.#pick(schema.enum);
    const { type, items, properties = {}, additionalProperties } = schema;
    if (type === 'array') return this.#some(3, () => this.value(items as JSONSchemaProps, depth + 1));
    if (type === 'object') {
      const inner = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : additionalProperties);
      return this.#object((name) => {
        const schema = inner(name);
        return typeof schema === 'object' ? this.value(schema, depth + 1) : this.#anything(depth + 1);
      });
    }
    if (type === 'string') return this.#pick(texts);
    if (type === 'number') return this.#pick(numbers);
    if (type === 'integer') return Math.floor(this.#pick(numbers));
    return type === 'boolean' ? this.#chance(0.5) : this.#scalar();
  }

  #anything(depth: number): unknown {
    if (depth >= maxDepth || this.#chance(0.6)) return this.#scalar();
    if (this.#chance(0.5)) return this.#some(3, () => this.#anything(depth + 1));
    return this.#object(() => this.#anything(depth + 1));
  }

  #scalar(): unknown {
    return this.#pick<unknown>([
      null,
      true,
      false,
      this.#pick(texts),
      this.#pick(texts),
      this.#pick(numbers),
      this.#pick(numbers),
    ]);
  }

  #object(make: (name: string) => unknown): object {
    const chosen = names.filter(() => this.#chance(0.5));
    return Object.fromEntries(chosen.map((name) => [name, make(name)]));
  }

  #some(limit: number, make: () => unknown): unknown[] {
    return Array.from({ length: Math.floor(this.#random() * (limit + 1)) }, make);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}
