/** Looks up the API's types by the names in requests and objects. */

import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import { compileTypes, typePrefix } from '#apimachinery/schema/compile.js';
import type { GroupVersionDeclaration, ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

export interface KindInfo {
  readonly group: GroupKey;
  /** The group's name on the wire; empty for core. */
  readonly groupName: string;
  readonly version: string;
  readonly kind: string;
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly type: TypeInfo;
}

export interface ResourceInfo {
  readonly declaration: ResourceDeclaration;
  readonly groupName: string;
  readonly apiVersion: string;
  readonly type: TypeInfo;
  /** `PodList`; undefined for a resource that cannot be listed (`tokenreviews`). */
  readonly listKind: string | undefined;
  readonly listType: TypeInfo | undefined;
}

/** Kinds of the meta group that exist in every group and version under the same name. */
const sharedKinds: ReadonlySet<string> = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'Status',
  'UpdateOptions',
  'WatchEvent',
]);

/** By apiVersion, then by a name: nested, so that lookups need no concatenated key. */
type ByVersion<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

function byVersion<T extends { readonly apiVersion: string }>(infos: readonly T[], name: (info: T) => string) {
  const versions = new Map<string, Map<string, T>>();
  for (const info of infos) {
    const names = versions.get(info.apiVersion) ?? new Map<string, T>();
    versions.set(info.apiVersion, names.set(name(info), info));
  }
  return versions;
}

/** Immutable. Creation takes a few milliseconds. */
export class Scheme {
  readonly dialect: Dialect;
  /** All resources of all groups, in declaration order. */
  readonly resources: readonly ResourceInfo[];
  readonly kinds: readonly KindInfo[];
  readonly #types: ReadonlyMap<string, TypeInfo>;
  readonly #kinds: ByVersion<KindInfo>;
  readonly #resources: ByVersion<ResourceInfo>;

  /** `goTypes`: Go types of fields (see `FieldInfo.goType`), by message and name. */
  constructor(
    dialect: Dialect,
    declarations: readonly GroupVersionDeclaration[],
    goTypes?: ReadonlyMap<string, string>,
  ) {
    this.dialect = dialect;
    this.#types = compileTypes(declarations, dialect.extensionPrefix, goTypes);
    const kinds: KindInfo[] = [];
    const resources: ResourceInfo[] = [];
    for (const gv of declarations) {
      const groupKey = gv.group;
      // Groups without version contain wire types only.
      if (groupKey === 'runtime' || groupKey === 'resource' || groupKey === 'intstr') continue;
      const group = { group: groupKey, groupName: dialect.groupName(groupKey), version: gv.version };
      const apiVersion = dialect.apiVersion(groupKey, gv.version);
      for (const declaration of gv.kinds) {
        for (const kind of Object.keys(declaration.types)) {
          const type = this.type(`${typePrefix(gv)}.${kind}`);
          if (type.isKind) kinds.push({ ...group, kind, apiVersion, type });
        }
        for (const resource of declaration.resources ?? []) {
          const full: ResourceDeclaration = { ...resource, group: groupKey, version: gv.version };
          resources.push(this.#resourceInfo(full, apiVersion));
        }
      }
    }
    this.kinds = kinds;
    this.resources = resources;
    this.#kinds = byVersion(kinds, ({ kind }) => kind);
    this.#resources = byVersion(resources, ({ declaration }) => declaration.resource);
    Object.freeze(this);
  }

  #resourceInfo(declaration: ResourceDeclaration, apiVersion: string): ResourceInfo {
    const prefix = `${declaration.group}.${declaration.version}`;
    const listType = this.#types.get(`${prefix}.${declaration.kind}List`);
    return Object.freeze({
      declaration,
      groupName: this.dialect.groupName(declaration.group),
      apiVersion,
      type: this.type(`${prefix}.${declaration.kind}`),
      listKind: listType?.shortName,
      listType,
    });
  }

  /** `v1`, `apps/v1` from a group's wire name and a version. */
  apiVersionOf(groupName: string, version: string): string {
    return groupName === '' ? version : `${groupName}/${version}`;
  }

  /** The type with that full name (`core.v1.PodSpec`). Throws a RangeError if unknown. */
  type(name: string): TypeInfo {
    const type = this.#types.get(name);
    if (type === undefined) throw new RangeError(`no such type: ${name}`);
    return type;
  }

  /** Like `type`, but undefined if unknown. */
  findType(name: string): TypeInfo | undefined {
    return this.#types.get(name);
  }

  /** Full names of all types. */
  typeNames(): string[] {
    return [...this.#types.keys()];
  }

  /**
   * The kind with that `apiVersion` and `kind`; undefined if unknown. Kinds shared by all group versions (`Status`,
   * `DeleteOptions`, …) exist in any apiVersion.
   */
  kind(apiVersion: string, kind: string): KindInfo | undefined {
    const info = this.#kinds.get(apiVersion)?.get(kind);
    if (info !== undefined || apiVersion === '' || !sharedKinds.has(kind)) return info;
    const type = this.#types.get(`meta.v1.${kind}`);
    if (type === undefined) return undefined;
    const { group: groupName, version } = parseGroupVersion(apiVersion);
    return { group: 'meta', groupName, version, kind, apiVersion, type };
  }

  /** Like `kind`, by the group's wire name (empty for core) and version. */
  kindOf(groupName: string, version: string, kind: string): KindInfo | undefined {
    return this.kind(this.apiVersionOf(groupName, version), kind);
  }

  /** The resource with that plural name; undefined if unknown. */
  resource(groupName: string, version: string, plural: string): ResourceInfo | undefined {
    return this.#resources.get(this.apiVersionOf(groupName, version))?.get(plural);
  }

  /** The resource with objects of that kind; undefined if there is none. */
  resourceOfKind(apiVersion: string, kind: string): ResourceInfo | undefined {
    return this.resources.find((info) => info.apiVersion === apiVersion && info.declaration.kind === kind);
  }

  /** The resource of one of this scheme's declarations, as clients hold them. */
  resourceOf(declaration: ResourceDeclaration): ResourceInfo {
    const groupName = this.dialect.groupName(declaration.group);
    const info = this.resource(groupName, declaration.version, declaration.resource);
    if (info === undefined) throw new RangeError(`no such resource: ${declaration.resource}`);
    return info;
  }
}
