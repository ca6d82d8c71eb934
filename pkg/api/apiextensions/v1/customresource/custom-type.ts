/**
 * Types of custom kinds in the same form as those of built-in kinds, compiled from a schema instead of a declaration.
 * Fields are created on first access.
 */
import { pruneObject } from '#api/apiextensions/v1/customresource/pruning.js';
import { coerceResources } from '#api/apiextensions/v1/customresource/resource-metadata.js';
import { objectFields } from '#api/apiextensions/v1/customresourcedefinition/default-validation.js';
import { isStructural } from '#api/apiextensions/v1/customresourcedefinition/structural-validation.js';
import type { Structural } from '#api/apiextensions/v1/structural/structural.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { FieldInfo, Prune, TypeInfo } from '#apimachinery/schema/type-info.js';

export interface CustomTypeOptions {
  readonly schema: Structural;
  /** The built-in scheme with the types common to all objects. */
  readonly scheme: Scheme;
  /** `stable.example.com.v1.CronTab`. */
  readonly name: string;
  readonly kind: string;
  readonly version: string;
}

/** The type of a custom kind's objects. */
export function customType({ schema, scheme, name, kind, version }: CustomTypeOptions): TypeInfo {
  const rules = { type: scheme.type('meta.v1.ObjectMeta'), dropInvalid: false };
  const prune: Prune = (object, dropped) => {
    pruneObject(object, schema, dropped);
    coerceResources(object, schema, rules);
  };
  const names = { name, shortName: kind, goName: `${version}.${kind}` };
  return new CustomType({ ...names, schema, scheme, isRoot: true, isInPreserving: false }, prune);
}

interface Part {
  readonly name: string;
  readonly shortName: string;
  readonly goName: string;
  readonly schema: Structural;
  readonly scheme: Scheme;
  readonly isRoot: boolean;
  /** The containing object preserves undeclared members. */
  readonly isInPreserving: boolean;
}

const noNumbers: ReadonlyMap<number, FieldInfo> = new Map();

class CustomType implements TypeInfo {
  readonly name: string;
  readonly shortName: string;
  readonly goName: string;
  readonly shape = 'struct';
  readonly isKind: boolean;
  readonly isList = false;
  readonly atomic: boolean;
  readonly doc: string | undefined;
  readonly preserveUnknown: boolean;
  readonly byNumber = noNumbers;
  readonly prune: Prune | undefined;
  readonly openAPISchema: object | undefined;
  readonly #part: Part;
  #byName: ReadonlyMap<string, FieldInfo> | undefined;
  #fields: readonly FieldInfo[] | undefined;

  constructor(part: Part, prune?: Prune) {
    const { schema } = part;
    this.#part = part;
    this.name = part.name;
    this.shortName = part.shortName;
    this.goName = part.goName;
    this.isKind = part.isRoot;
    this.atomic = schema.isAtomic;
    this.doc = schema.schema.description;
    this.preserveUnknown = schema.preservesUnknown || part.isInPreserving;
    this.prune = prune;
    this.openAPISchema = part.isRoot && isTyped(schema) ? schema.schema : undefined;
  }

  get byName(): ReadonlyMap<string, FieldInfo> {
    this.#byName ??= this.#make();
    return this.#byName;
  }

  get fields(): readonly FieldInfo[] {
    this.#fields ??= [...this.byName.values()];
    return this.#fields;
  }

  #make(): ReadonlyMap<string, FieldInfo> {
    const { schema, scheme, isRoot, name } = this.#part;
    const isInPreserving = this.preserveUnknown;
    const fields = new Map<string, FieldInfo>();
    if (isRoot || schema.isResource) {
      if (!isRoot) for (const own of ['apiVersion', 'kind']) fields.set(own, scalarField(own, 'string', fields.size));
      // Every API object has metadata, so an empty one gets no manager.
      const type = scheme.type('meta.v1.ObjectMeta');
      const meta = { type: isRoot ? type : embeddedMetadata(type), pointer: !isRoot };
      fields.set('metadata', fieldOf('metadata', meta, fields.size));
    }
    for (const [key, property] of isTyped(schema) ? schema.properties : []) {
      if (fields.has(key) || (isRoot && objectFields.has(key))) continue;
      fields.set(
        key,
        propertyField(key, property, { scheme, name: `${name}.${key}`, number: fields.size, isInPreserving }),
      );
    }
    return fields;
  }
}

/** Nested metadata has no nulls: without a creation time it lacks the member. */
const embeddedMetadata = oncePer((type: TypeInfo): TypeInfo => {
  const fields = type.fields.map((field) => (field.name === 'creationTimestamp' ? { ...field, pointer: true } : field));
  const { byNumber, always = [] } = type;
  return { ...type, fields, byNumber, always, byName: new Map(fields.map((field) => [field.name, field])) };
});

/** Old definitions that preserve everything may have schemas that are not structural; those determine no types. */
function isTyped(schema: Structural): boolean {
  return !schema.keepsAll || isStructural(schema.schema, schema.dialect);
}

interface FieldPlace extends Pick<Part, 'scheme' | 'name' | 'isInPreserving'> {
  readonly number: number;
}

type Shaped = Partial<
  Pick<FieldInfo, 'container' | 'scalar' | 'type' | 'keyScalar' | 'listKind' | 'listMapKeys' | 'element'>
> & {
  readonly atomic?: boolean;
  readonly pointer?: boolean;
  readonly schema?: Structural;
};

/** All fields of custom objects distinguish zero from absent. */
function fieldOf(name: string, shaped: Shaped, number: number): FieldInfo {
  const { schema, container = 'single', scalar, type, keyScalar, listKind = 'atomic', listMapKeys = [] } = shaped;
  return {
    name,
    protoName: name,
    number: number + 1,
    container,
    scalar,
    type,
    keyScalar,
    element: shaped.element,
    pointer: shaped.pointer !== false,
    omitempty: true,
    optional: true,
    inline: false,
    patchMerge: false,
    patchRetainKeys: false,
    patchMergeKey: undefined,
    listKind,
    listMapKeys,
    atomic: shaped.atomic === true,
    enumValues: undefined,
    default: undefined,
    schemaDefault: schema?.default,
    featureGate: undefined,
    doc: schema?.schema.description,
  };
}

function scalarField(name: string, scalar: Scalar, number: number): FieldInfo {
  return fieldOf(name, { scalar }, number);
}

const scalars: Readonly<Record<string, Scalar>> = {
  string: 'string',
  boolean: 'bool',
  integer: 'int64',
  number: 'double',
};

function propertyField(key: string, schema: Structural, place: FieldPlace): FieldInfo {
  const { number } = place;
  if (schema.type === 'array') {
    const { listType: listKind, listMapKeys } = schema;
    const shaped = { schema, container: 'list' as const, listKind, listMapKeys };
    return fieldOf(key, { ...shaped, ...elementOf(schema.items, place) }, number);
  }
  if (schema.type === 'object' && typeof schema.additional === 'object') {
    const { additional } = schema;
    const shaped = { schema, container: 'map' as const, keyScalar: 'string' as const, atomic: schema.isAtomic };
    // Nested lists are atomic: elements of sets are scalars, elements with keys are objects.
    const element = isCollection(additional) ? propertyField(key, additional, place) : undefined;
    return fieldOf(key, { ...shaped, ...elementOf(additional, place), element }, number);
  }
  const element = elementOf(schema, place);
  return fieldOf(key, { schema, atomic: schema.isAtomic, ...element }, number);
}

/** Lists, and maps with arbitrary keys. */
function isCollection({ type, additional }: Structural): boolean {
  return type === 'array' || (type === 'object' && typeof additional === 'object');
}

/** The type of a value that is neither a list nor a map; codecs treat it as JSON. */
function elementOf(
  schema: Structural | undefined,
  { scheme, name, isInPreserving }: FieldPlace,
): Pick<Shaped, 'scalar' | 'type'> {
  const scalar = schema === undefined || schema.intOrString ? undefined : scalars[schema.type];
  if (scalar !== undefined) return { scalar };
  if (schema?.type === 'object' && schema.additional === undefined) {
    const shortName = name.slice(name.lastIndexOf('.') + 1);
    return {
      type: new CustomType({ name, shortName, goName: shortName, schema, scheme, isRoot: false, isInPreserving }),
    };
  }
  return { type: scheme.type('apiextensions.v1.JSON') };
}
