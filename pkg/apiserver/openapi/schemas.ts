/** API types as OpenAPI schemas. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { publishedSchema } from '#apiserver/openapi/custom-schemas.js';
import type { SchemaDocument } from '#apiserver/openapi/document-types.js';
import { definitionName, extend } from '#apiserver/openapi/names.js';

export type OpenApiVersion = 2 | 3;

/** The feature gate behind the lists of allowed values. */
export const openAPIEnumsGate = 'OpenAPIEnums';

const scalars: Readonly<Record<Scalar, { readonly type: string; readonly format?: string }>> = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  uint32: { type: 'integer', format: 'int64' },
  uint64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  float: { type: 'number', format: 'float' },
};

/** Members of all objects. Tools that read `explain` expect 1.24's descriptions to begin this way. */
const objectProperties: Readonly<Record<string, SchemaDocument>> = {
  apiVersion: {
    type: 'string',
    description: 'APIVersion defines in which schema this object is written, as `group/version`.',
  },
  kind: {
    type: 'string',
    description: 'Kind is the name of the schema of this object, in CamelCase. Cannot change once the object exists.',
  },
};

const metadataDescription =
  "Standard object's metadata: name, labels, annotations and owners, or the version of a list.";

export interface SchemaOptions {
  /** Metadata of custom kinds' lists. */
  readonly listMeta?: TypeInfo | undefined;
  /** Whether fields of built-in kinds list their allowed values. */
  readonly enums?: boolean;
}

/** Collects the definitions that one document needs, following references. */
export class SchemaCollector {
  readonly schemas: Record<string, SchemaDocument> = {};
  /** Definitions of a custom kind; all others are the same in every document. */
  readonly customNames = new Set<string>();
  readonly #dialect: Dialect;
  readonly #version: OpenApiVersion;

  readonly #listMeta: TypeInfo | undefined;

  readonly #enums: boolean;

  constructor(dialect: Dialect, version: OpenApiVersion, { listMeta, enums = true }: SchemaOptions = {}) {
    this.#enums = enums;
    this.#dialect = dialect;
    this.#version = version;
    this.#listMeta = listMeta;
  }

  /** A reference to the type's definition; adds it and all that it refers to. */
  reference(type: TypeInfo): SchemaDocument {
    const name = definitionName(type, this.#dialect);
    if (this.schemas[name] === undefined) {
      // Set before its fields are followed: types may refer to themselves.
      this.schemas[name] = {};
      if (type.prune !== undefined) this.customNames.add(name);
      const definition = this.#definition(type);
      // Schemas of custom definitions bring their own description.
      const { doc } = type.prune === undefined ? type : {};
      this.schemas[name] = doc === undefined ? definition : { description: doc, ...definition };
    }
    return this.#reference(name);
  }

  /** Adds a definition that is not an API type, and returns a reference to it. */
  named(name: string, schema: SchemaDocument): SchemaDocument {
    this.schemas[name] = schema;
    return this.#reference(name);
  }

  #reference(name: string): SchemaDocument {
    return { $ref: this.#version === 2 ? `#/definitions/${name}` : `#/components/schemas/${name}` };
  }

  /** Marks a definition as a kind's; a shared definition (`DeleteOptions`) belongs to many kinds. */
  markKind(type: TypeInfo, kind: { group: string; version: string; kind: string }): void {
    this.reference(type);
    const schema = this.schemas[definitionName(type, this.#dialect)];
    if (schema === undefined) return;
    const key = `${this.#dialect.extensionPrefix}group-version-kind` as const;
    const kinds = (schema as Record<string, unknown>)[key] as (typeof kind)[] | undefined;
    extend(schema, this.#dialect, 'group-version-kind', [...(kinds ?? []), kind]);
  }

  #definition(type: TypeInfo): SchemaDocument {
    switch (type.shape) {
      case 'time':
      case 'microTime':
        return { type: 'string', format: 'date-time' };
      case 'duration':
        return { type: 'string' };
      case 'quantity':
        return this.#version === 2 ? { type: 'string' } : { oneOf: [{ type: 'string' }, { type: 'number' }] };
      case 'intOrString':
        return this.#version === 2
          ? { type: 'string', format: 'int-or-string' }
          : { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] };
      case 'rawJSON':
        return type.shortName === 'JSON' ? {} : { type: 'object' };
      case 'bareList':
        return { type: 'array', items: this.#element(type.fields[0]) };
      case 'schemaOrArray':
      case 'schemaOrBool':
      case 'schemaOrStringArray':
        return {};
      case 'struct':
        return this.#struct(type);
    }
  }

  #custom(type: TypeInfo, declared: object): SchemaDocument {
    const metadata = this.#metadata(type.byName.get('metadata')?.type);
    const ofObjects = { ...objectProperties, metadata };
    return publishedSchema(declared, { version: this.#version, dialect: this.#dialect, ofObjects });
  }

  #metadata(type: TypeInfo | undefined): SchemaDocument {
    if (type === undefined) return {};
    const reference = this.reference(type);
    // In version 3 a reference must stand alone.
    const schema: SchemaDocument = this.#version === 3 ? { allOf: [reference] } : reference;
    return { ...schema, description: metadataDescription };
  }

  /** Adds the definition of a custom kind's list, which has no type, and returns a reference to it. */
  customList(type: TypeInfo, names: { readonly group: string; readonly version: string; readonly kind: string }) {
    const items = this.reference(type);
    const name = `${definitionName(type, this.#dialect).slice(0, -type.shortName.length)}${names.kind}`;
    if (this.schemas[name] === undefined) {
      const schema: SchemaDocument = {
        description: `${names.kind} is a list of ${type.shortName}`,
        required: ['items'],
        properties: {
          ...objectProperties,
          items: { type: 'array', description: `List of ${type.shortName} objects.`, items },
          metadata: this.#metadata(this.#listMeta),
        },
      };
      extend(schema, this.#dialect, 'group-version-kind', [names]);
      this.schemas[name] = schema;
      this.customNames.add(name);
    }
    return { $ref: items.$ref?.slice(0, -definitionName(type, this.#dialect).length) + name };
  }

  #struct(type: TypeInfo): SchemaDocument {
    if (type.openAPISchema !== undefined) return this.#custom(type, type.openAPISchema);
    // Old definitions may have a schema without types.
    if (type.prune !== undefined) return { type: 'object' };
    const properties: Record<string, SchemaDocument> = {};
    const required: string[] = [];
    if (type.isKind) Object.assign(properties, objectProperties);
    for (const [name, field] of type.byName) {
      properties[name] = this.#field(field);
      if (!field.optional && !field.omitempty) required.push(name);
    }
    const schema: SchemaDocument = { type: 'object' };
    if (Object.keys(properties).length > 0) schema.properties = properties;
    if (required.length > 0) schema.required = inDeclaredOrder(required, type.declared ?? []);
    if (type.union !== undefined) extend(schema, this.#dialect, 'unions', [unionDocument(type.union)]);
    return schema;
  }

  #field(field: FieldInfo): SchemaDocument {
    const schema = this.#container(field);
    // A reference must stand alone.
    const needsMore = field.doc !== undefined || field.schemaDefault !== undefined || hasExtensions(field);
    const target: SchemaDocument =
      schema.$ref !== undefined && needsMore && this.#version === 3 ? { allOf: [schema] } : schema;
    if (field.doc !== undefined) target.description = field.doc;
    if (field.schemaDefault !== undefined) target.default = field.schemaDefault;
    const { enumValues } = field;
    if (this.#enums && enumValues !== undefined && field.container === 'single') target.enum = enumValues;
    this.#extensions(target, field);
    return target;
  }

  #extensions(schema: SchemaDocument, field: FieldInfo): void {
    const dialect = this.#dialect;
    const { patchRetainKeys, patchMerge, patchReplace = false } = field;
    const strategies = Object.entries({ replace: patchReplace, retainKeys: patchRetainKeys, merge: patchMerge })
      .filter(([, applies]) => applies)
      .map(([name]) => name);
    if (strategies.length > 0) extend(schema, dialect, 'patch-strategy', strategies.join(','));
    if (field.patchMergeKey !== undefined) extend(schema, dialect, 'patch-merge-key', field.patchMergeKey);
    if (field.container === 'list' && field.listKind !== 'atomic') {
      extend(schema, dialect, 'list-type', field.listKind);
      if (field.listKind === 'map') extend(schema, dialect, 'list-map-keys', field.listMapKeys);
    }
    if (field.container !== 'list' && field.atomic) extend(schema, dialect, 'map-type', 'atomic');
  }

  #container(field: FieldInfo): SchemaDocument {
    if (field.container === 'list') return { type: 'array', items: this.#element(field) };
    if (field.container === 'map') return { type: 'object', additionalProperties: this.#element(field) };
    return this.#element(field);
  }

  #element(field: FieldInfo | undefined): SchemaDocument {
    if (field === undefined) return {};
    if (field.type !== undefined) return this.reference(field.type);
    return field.scalar === undefined ? {} : { ...scalars[field.scalar] };
  }
}

/** The discriminator has the member's name, written as a type name. */
function unionDocument({ discriminator, members }: NonNullable<TypeInfo['union']>): object {
  const named = members.map((name) => [name, `${name.charAt(0).toUpperCase()}${name.slice(1)}`]);
  return { discriminator, 'fields-to-discriminateBy': Object.fromEntries(named) };
}

function hasExtensions(field: FieldInfo): boolean {
  const { patchMerge, patchRetainKeys, patchReplace, patchMergeKey, atomic } = field;
  return patchMerge || patchRetainKeys || patchReplace === true || patchMergeKey !== undefined || atomic;
}

/** Release 1.24 lists required fields in declaration order, not by number. Undeclared names come last. */
function inDeclaredOrder(names: readonly string[], declared: readonly string[]): string[] {
  const ordered = declared.filter((name) => names.includes(name));
  return [...ordered, ...names.filter((name) => !declared.includes(name))];
}
