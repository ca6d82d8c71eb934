/** Random canonical objects of any type, for tests over all types. */
import { complete, isInsignificant, zeroElement } from '#apimachinery/codec/json/walk.js';
import { formatDurationNanos } from '#apimachinery/duration.js';
import { canonicalQuantity } from '#apimachinery/quantity.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

const texts = ['a', 'nginx:1.25', 'grüße', '日本', '🚀 up', 'with "quotes"\n', 'x'.repeat(300)];
const quantities = ['1', '500m', '1536Mi', '2Gi', '-3', '1e3', '7n', '12345678901234567890'];

export class RandomObjects {
  readonly #random: () => number;
  #messagesLeft = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  #integer(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #pick<T>(values: readonly T[], fallback: T): T {
    return values[this.#integer(values.length)] ?? fallback;
  }

  /** An object of the type with at most 150 nested messages. */
  object(type: TypeInfo): Record<string, unknown> {
    this.#messagesLeft = 150;
    return this.#struct(type, 6);
  }

  #struct(type: TypeInfo, depth: number): Record<string, unknown> {
    this.#messagesLeft--;
    const result: Record<string, unknown> = {};
    for (const field of type.fields) {
      if (field.inline && field.type !== undefined) Object.assign(result, this.#struct(field.type, depth));
      else if (field.name !== '') this.#member(field, result, depth);
    }
    complete(type, result);
    return result;
  }

  #member(field: FieldInfo, into: Record<string, unknown>, depth: number): void {
    const single = field.container === 'single';
    const required = single && !field.pointer && !field.omitempty && !field.optional;
    // These types have no absent form on the wire.
    const everPresent = single && !field.pointer && ['quantity', 'intOrString'].includes(field.type?.shape ?? '');
    if (!required && !everPresent && (depth <= 0 || this.#messagesLeft <= 0 || this.#random() < 0.4)) return;
    const value = this.#value(field, depth);
    if (value !== undefined && !isInsignificant(field, value)) into[field.name] = value;
  }

  #value(field: FieldInfo, depth: number): unknown {
    const elements = Array.from(
      { length: 1 + this.#integer(3) },
      () => this.#element(field, depth) ?? zeroElement(field),
    );
    if (field.container === 'list') return elements;
    if (field.container === 'single') return this.#element(field, depth);
    return Object.fromEntries(elements.map((element, i) => [this.#pick(texts, '') + i, element]));
  }

  #element(field: FieldInfo, depth: number): unknown {
    return field.scalar === undefined
      ? field.type === undefined
        ? undefined
        : this.#message(field.type, depth - 1)
      : this.#scalar(field.scalar);
  }

  #scalar(scalar: Scalar): unknown {
    switch (scalar) {
      case 'string':
        return this.#pick(texts, '');
      case 'bytes':
        return Buffer.from(this.#pick(texts, '')).toString('base64');
      case 'bool':
        return this.#random() < 0.5;
      case 'int32':
        return this.#pick([0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)], 0);
      case 'int64':
        return this.#pick([0, 1, -1, 300, 2 ** 40, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER], 0);
      case 'uint32':
      case 'uint64':
        return this.#pick([0, 1, 128, 2 ** 31], 0);
      case 'double':
      case 'float':
        return this.#pick([0, 1.5, -2.25], 0);
    }
  }

  #message(type: TypeInfo, depth: number): unknown {
    const seconds = () => new Date(this.#integer(4e9) * 1000).toISOString().slice(0, 19);
    const schema = type.fields.find((field) => field.protoName === 'schema')?.type;
    switch (type.shape) {
      case 'struct':
        return this.#struct(type, depth);
      case 'time':
        return `${seconds()}Z`;
      case 'microTime':
        return `${seconds()}.${String(this.#integer(1e6)).padStart(6, '0')}Z`;
      case 'duration':
        return formatDurationNanos(BigInt(this.#integer(1e12)));
      case 'quantity':
        return canonicalQuantity(this.#pick(quantities, '1'));
      case 'intOrString':
        return this.#random() < 0.5 ? this.#integer(100) : this.#pick(texts, '');
      case 'rawJSON':
        return { 'f:spec': { a: [1, null, 'x'], b: {} } };
      case 'bareList':
        return [this.#pick(texts, ''), this.#pick(texts, '')];
      case 'schemaOrArray':
        if (schema === undefined) return [];
        return this.#random() < 0.5 ? [this.#struct(schema, depth)] : this.#struct(schema, depth);
      case 'schemaOrBool':
        return this.#random() < 0.5 || schema === undefined ? this.#random() < 0.5 : this.#struct(schema, depth);
      case 'schemaOrStringArray':
        return this.#random() < 0.5 || schema === undefined ? ['a', 'b'] : this.#struct(schema, depth);
    }
  }
}
