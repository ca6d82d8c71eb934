/** Compiles declarations into types. */
import { orchDialect } from '#apimachinery/dialect.js';
import { fieldDescription, messageDescription } from '#apimachinery/schema/descriptions.js';
import type {
  FieldDeclaration,
  GroupVersionDeclaration,
  MessageDeclaration,
  Scalar,
  Shape,
} from '#apimachinery/schema/schema.js';
import type { FieldInfo, ListKind, TypeInfo } from '#apimachinery/schema/type-info.js';

const scalars: ReadonlySet<string> = new Set<Scalar>([
  'string',
  'bytes',
  'bool',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'double',
  'float',
]);

/** The prefix of OpenAPI extensions in declarations; each dialect has its own. */
const declaredExtensionPrefix = orchDialect.extensionPrefix;

class CompiledField implements FieldInfo {
  readonly name: string;
  readonly protoName: string;
  readonly number: number;
  readonly container: 'single' | 'list' | 'map';
  readonly scalar: Scalar | undefined;
  readonly type: TypeInfo | undefined;
  readonly keyScalar: Scalar | undefined;
  readonly pointer: boolean;
  readonly omitempty: boolean;
  readonly keepsEmpty: boolean;
  readonly optional: boolean;
  readonly inline: boolean;
  readonly patchMerge: boolean;
  readonly patchRetainKeys: boolean;
  readonly patchReplace: boolean;
  readonly patchMergeKey: string | undefined;
  readonly listKind: ListKind;
  readonly listMapKeys: readonly string[];
  readonly atomic: boolean;
  readonly enumValues: readonly string[] | undefined;
  readonly default: unknown;
  readonly schemaDefault: unknown;
  readonly immutable: boolean;
  readonly featureGate: string | undefined;
  readonly whileOff: string | undefined;
  readonly ungated: readonly string[] | undefined;
  readonly doc: string | undefined;
  readonly goType: string | undefined;

  constructor(
    key: string,
    declaration: FieldDeclaration,
    resolved: {
      type: TypeInfo | undefined;
      enumValues: readonly string[] | undefined;
      extensionPrefix: string;
      goType: string | undefined;
    },
  ) {
    const { patchStrategy = declaration.patchMergeKey === undefined ? '' : 'merge' } = declaration;
    const strategies = patchStrategy.split(',');
    this.name = key.startsWith('~') ? '' : withPrefix(key, resolved.extensionPrefix);
    this.protoName = declaration.protoName ?? key.replace('~', '');
    this.number = declaration.number;
    this.container = declaration.repeated === true ? 'list' : declaration.map === undefined ? 'single' : 'map';
    this.scalar = resolved.type === undefined ? (declaration.type as Scalar) : undefined;
    this.type = resolved.type;
    this.keyScalar = declaration.map;
    this.pointer = declaration.pointer === true;
    this.omitempty = declaration.omitempty === true;
    this.keepsEmpty = declaration.keepsEmpty === true;
    this.optional = declaration.optional === true;
    this.inline = declaration.inline === true;
    this.patchMerge = strategies.includes('merge');
    this.patchRetainKeys = strategies.includes('retainKeys');
    this.patchReplace = strategies.includes('replace');
    this.patchMergeKey = declaration.patchMergeKey;
    this.listKind = listKind(declaration, this.patchMerge);
    this.listMapKeys =
      declaration.listMapKeys ?? (declaration.patchMergeKey === undefined ? [] : [declaration.patchMergeKey]);
    this.atomic =
      declaration.mapType === 'atomic' ||
      declaration.structType === 'atomic' ||
      (this.container === 'single' && resolved.type?.atomic === true);
    this.enumValues = resolved.enumValues?.toSorted();
    this.default = declaration.default;
    this.schemaDefault = declaration.defaultInSchema === true ? declaration.default : undefined;
    this.immutable = declaration.immutable === true;
    this.featureGate = declaration.featureGate;
    this.whileOff = declaration.whileOff;
    this.ungated = declaration.ungated;
    this.doc = fieldDescription(declaration);
    this.goType = resolved.goType;
  }
}

/** The list kind that 1.24 derives from OpenAPI: without a list type, a merge key implies a map, else a set. */
function listKind(declaration: FieldDeclaration, merge: boolean): ListKind {
  if (declaration.repeated !== true) return 'atomic';
  if (declaration.listType !== undefined) return declaration.listType;
  if (declaration.listMapKeys !== undefined) return 'map';
  if (!merge) return 'atomic';
  return declaration.patchMergeKey === undefined ? 'set' : 'map';
}

function withPrefix(key: string, prefix: string): string {
  return key.startsWith(declaredExtensionPrefix) ? prefix + key.slice(declaredExtensionPrefix.length) : key;
}

/** Fields are compiled on first use: types may be recursive, and most programs use few of them. */
class CompiledType implements TypeInfo {
  readonly name: string;
  readonly shortName: string;
  readonly goName: string;
  readonly shape: Shape;
  readonly declared: readonly string[];
  readonly isKind: boolean;
  readonly isList: boolean;
  readonly atomic: boolean;
  readonly preserveUnknown = false;
  readonly doc: string | undefined;
  readonly union: TypeInfo['union'];
  readonly #compile: (type: TypeInfo) => FieldInfo[];
  #fields: readonly FieldInfo[] | undefined;
  #byName: ReadonlyMap<string, FieldInfo> | undefined;
  #byNumber: ReadonlyMap<number, FieldInfo> | undefined;
  #always: readonly FieldInfo[] | undefined;

  constructor(
    prefix: string,
    shortName: string,
    declared: {
      message: MessageDeclaration;
      served: ReadonlySet<string>;
      compile: (type: TypeInfo) => FieldInfo[];
    },
  ) {
    const { message, served } = declared;
    this.#compile = declared.compile;
    this.name = `${prefix}.${shortName}`;
    this.shortName = shortName;
    this.goName = `${prefix.slice(prefix.lastIndexOf('.') + 1)}.${shortName}`;
    this.shape = message.shape ?? 'struct';
    this.atomic = message.atomic === true;
    this.doc = messageDescription(message);
    this.union = schemaUnion(message);
    this.isList =
      shortName.endsWith('List') && message.fields.items !== undefined && message.fields.metadata !== undefined;
    this.declared = Object.keys(message.fields);
    this.isKind = message.isKind === true || served.has(this.name);
  }

  get fields(): readonly FieldInfo[] {
    this.#fields ??= this.#compile(this).sort((a, b) => a.number - b.number);
    return this.#fields;
  }

  get byName(): ReadonlyMap<string, FieldInfo> {
    this.#byName ??= namesOf(this, new Map());
    return this.#byName;
  }

  get byNumber(): ReadonlyMap<number, FieldInfo> {
    this.#byNumber ??= new Map(this.fields.map((field) => [field.number, field]));
    return this.#byNumber;
  }

  get always(): readonly FieldInfo[] {
    this.#always ??= [...this.byName.values()].filter(isAlways);
    return this.#always;
  }
}

function schemaUnion({ fields, union = [] }: MessageDeclaration): TypeInfo['union'] {
  const discriminator = Object.keys(fields).find((name) => fields[name]?.discriminator === 'inSchema');
  return discriminator === undefined ? undefined : { discriminator, members: union };
}

/** Messages whose zero value is serialized. The zero value of others (times, raw JSON) is null, i.e. absent. */
const shapesWithZero: ReadonlySet<Shape> = new Set(['struct', 'quantity', 'intOrString', 'duration']);

function isAlways(field: FieldInfo): boolean {
  if (field.container !== 'single' || field.pointer) return false;
  if (field.type !== undefined) return shapesWithZero.has(field.type.shape);
  return !field.omitempty && field.scalar !== 'bytes';
}

/** `core.v1`, or `resource` for groups with wire types only. */
export function typePrefix(gv: { group: string; version: string }): string {
  return gv.version === '' ? gv.group : `${gv.group}.${gv.version}`;
}

function servedKinds(declarations: readonly GroupVersionDeclaration[]): Set<string> {
  const served = new Set<string>();
  for (const gv of declarations) {
    for (const resource of gv.kinds.flatMap((kind) => kind.resources ?? [])) {
      served.add(`${typePrefix(gv)}.${resource.kind}`);
      for (const sub of resource.subresources ?? []) {
        served.add(`${sub.group ?? gv.group}.${sub.version ?? gv.version}.${sub.kind}`);
      }
    }
  }
  return served;
}

/** JSON names of a type, including those of inline messages. */
function namesOf(type: TypeInfo, into: Map<string, FieldInfo>): Map<string, FieldInfo> {
  for (const field of type.fields) {
    if (field.inline && field.type !== undefined) namesOf(field.type, into);
    else if (field.name !== '') into.set(field.name, field);
  }
  return into;
}

const noGoTypes: ReadonlyMap<string, string> = new Map();

/**
 * All types by full name. `extensionPrefix` is the dialect's prefix of OpenAPI extensions, which are field names of one
 * type. The fields of a type throw a RangeError on access if one refers to an unknown type.
 */
export function compileTypes(
  declarations: readonly GroupVersionDeclaration[],
  extensionPrefix: string,
  goTypes: ReadonlyMap<string, string> = noGoTypes,
): ReadonlyMap<string, TypeInfo> {
  const served = servedKinds(declarations);
  const types = new Map<string, TypeInfo>();
  for (const gv of declarations) {
    const prefix = typePrefix(gv);
    const enums = new Map(gv.kinds.flatMap((kind) => Object.entries(kind.enums ?? {})));
    for (const kind of gv.kinds) {
      for (const [name, message] of Object.entries(kind.types)) {
        const compile = (type: TypeInfo): FieldInfo[] =>
          Object.entries(message.fields).map(([key, declaration]) => {
            const target = scalars.has(declaration.type)
              ? undefined
              : (types.get(declaration.type.includes('.') ? declaration.type : `${prefix}.${declaration.type}`) ??
                unknownType(declaration.type, `${type.name}.${key}`));
            const enumValues =
              declaration.enum === undefined
                ? undefined
                : (enums.get(declaration.enum) ?? unknownEnum(declaration.enum, `${type.name}.${key}`));
            const goType = goTypes.get(`${type.name}.${key}`);
            return new CompiledField(key, declaration, { type: target, enumValues, extensionPrefix, goType });
          });
        const type = new CompiledType(prefix, name, { message, served, compile });
        types.set(type.name, type);
      }
    }
  }
  return types;
}

function unknownEnum(name: string, where: string): never {
  throw new RangeError(`${where} has the enum ${name}, which is not declared`);
}

function unknownType(name: string, where: string): never {
  throw new RangeError(`${where} refers to the type ${name}, which is not declared`);
}
