/**
 * Schemas like those of real operators: parts of built-in kinds with descriptions, as generated from types that embed a pod
 * template.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

type Schema = Record<string, unknown>;

/** Deeper levels are open objects, because schemas of definitions cannot be recursive. */
const maxDepth = 12;
/** The types whose fields are used. */
const sources = [
  ...['core.v1.PodSpec', 'core.v1.Container', 'core.v1.ServiceSpec', 'apps.v1.StatefulSetSpec', 'batch.v1.JobSpec'],
  ...['networking.v1.IngressSpec', 'core.v1.PersistentVolumeClaimSpec', 'core.v1.NodeSpec', 'core.v1.PodStatus'],
];

interface Part {
  readonly name: string;
  readonly schema: Schema;
  readonly bytes: number;
}

export class OperatorSchemas {
  readonly #dialect: Dialect;
  readonly #parts: readonly Part[];
  /** By name and depth. */
  readonly #cache = new Map<string, Schema>();

  constructor(scheme: Scheme) {
    this.#dialect = scheme.dialect;
    const parts = sources.flatMap((source) => {
      const type = scheme.type(source);
      return [...type.byName.values()].map((field): Part => {
        const schema = this.#field(field, 0);
        return { name: `${type.shortName.slice(0, 3).toLowerCase()}${field.name}`, schema, bytes: sizeOf(schema) };
      });
    });
    this.#parts = parts.filter(({ bytes }) => bytes < 40_000);
  }

  /** A schema of about the given number of bytes; `random` is uniform in [0, 1). */
  kind(bytes: number, random: () => number): Schema {
    const properties: Schema = {};
    let left = bytes;
    for (let tries = 0; left > 400 && tries < 1000; tries++) {
      const part = this.#parts[Math.floor(random() * this.#parts.length)] as Part;
      if (part.bytes > left + 400 || part.name in properties) continue;
      properties[part.name] = part.schema;
      left -= part.bytes;
    }
    const conditions = { type: 'array', items: { type: 'object', properties: { type: { type: 'string' } } } };
    return {
      type: 'object',
      description: 'Something that an operator takes care of.',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { type: 'object' },
        spec: { type: 'object', description: 'What is wanted.', properties },
        status: { type: 'object', properties: { conditions, replicas: { type: 'integer' } } },
      },
    };
  }

  /** The schema of a kind with the type's `spec` and `status`. */
  like(type: TypeInfo): Schema {
    const of = (name: string) => this.#field(type.byName.get(name) as FieldInfo, 0);
    return { type: 'object', properties: { spec: of('spec'), status: of('status') } };
  }

  #field(field: FieldInfo, depth: number): Schema {
    const described = field.doc === undefined ? {} : { description: field.doc };
    const element = this.#element(field, depth);
    if (field.container === 'list') return { ...described, type: 'array', items: element };
    if (field.container === 'map') return { ...described, type: 'object', additionalProperties: element };
    return { ...element, ...described };
  }

  #element({ scalar, type }: FieldInfo, depth: number): Schema {
    if (type !== undefined) return this.#type(type, depth);
    if (scalar === 'bool') return { type: 'boolean' };
    if (scalar === 'double' || scalar === 'float') return { type: 'number' };
    if (scalar === 'string' || scalar === 'bytes') return { type: 'string' };
    return { type: 'integer', format: scalar === 'int64' ? 'int64' : 'int32' };
  }

  #type(type: TypeInfo, depth: number): Schema {
    const x = this.#dialect.extensionPrefix;
    if (type.shape === 'time' || type.shape === 'microTime') return { type: 'string', format: 'date-time' };
    if (type.shape === 'duration') return { type: 'string' };
    if (type.shape === 'quantity' || type.shape === 'intOrString') {
      return { anyOf: [{ type: 'integer' }, { type: 'string' }], [`${x}int-or-string`]: true };
    }
    if (type.shape !== 'struct' || depth > maxDepth) return { type: 'object', [`${x}preserve-unknown-fields`]: true };
    const key = `${type.name} ${depth}`;
    let schema = this.#cache.get(key);
    if (schema === undefined) {
      schema = this.#struct(type, depth);
      this.#cache.set(key, schema);
    }
    return schema;
  }

  #struct(type: TypeInfo, depth: number): Schema {
    const fields = [...type.byName.values()];
    const required = fields.filter(({ optional, omitempty }) => !optional && !omitempty).map(({ name }) => name);
    return {
      type: 'object',
      ...(type.doc === undefined ? {} : { description: type.doc }),
      properties: Object.fromEntries(fields.map((field) => [field.name, this.#field(field, depth + 1)])),
      ...(required.length === 0 ? {} : { required }),
    };
  }
}

function sizeOf(schema: Schema): number {
  return Buffer.byteLength(JSON.stringify(schema));
}
