/**
 * What documents are put together from: the entries of a custom resource, of the built-in resources of a document, and of
 * types that several custom resources refer to. Each is made when it is first asked for, in turns, and kept compressed for as
 * long as its resources are served.
 */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { type ForeignPart, withFreeNames } from '#apiserver/openapi/aggregated-documents.js';
import type { DocumentFormat } from '#apiserver/openapi/format.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/model.js';
import { addPaths } from '#apiserver/openapi/operations.js';
import { type OpenApiVersion, SchemaCollector } from '#apiserver/openapi/schemas.js';
import { type Packed, pack } from '#apiserver/representation/gzip-document.js';
import type { DescribedResource, ServedResource } from '#apiserver/resources/served-resource.js';

export interface Unit {
  readonly paths: Packed;
  readonly schemas: Packed;
  /** Names of the schemas that are not in it and that it refers to. */
  readonly shared: readonly string[];
  /** Names of those that are in it; of custom resources, whose names are nobody else's, none. */
  readonly names: ReadonlySet<string>;
}

export interface UnitsOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  readonly turns: Pick<TurnQueue, 'pause'>;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
}

const noNames: ReadonlySet<string> = new Set();
/** Built-in parts and sets of shared types that are remembered; there are as many as group versions, and one or two sets. */
const maxKept = 256;

export class Units {
  readonly #options: UnitsOptions;
  readonly #custom = new WeakMap<ServedResource, Map<string, Promise<Unit>>>();
  readonly #foreign = new WeakMap<ForeignPart, Map<string, Promise<Unit>>>();
  /** By format and what they are made of. */
  readonly #kept = new Map<string, Promise<Unit>>();
  /** Of types that custom resources refer to. */
  readonly #shared: Readonly<Record<OpenApiVersion, Map<string, SchemaDocument>>> = { 2: new Map(), 3: new Map() };

  constructor(options: UnitsOptions) {
    this.#options = options;
  }

  /** Those that long work here comes in. */
  get turns(): UnitsOptions['turns'] {
    return this.#options.turns;
  }

  /** Rejects where the resource's definition is gone. */
  custom(resource: ServedResource, format: DocumentFormat): Promise<Unit> {
    return onceIn(this.#custom, resource, format, () => this.#makeCustom(resource, format));
  }

  foreign(part: ForeignPart, format: DocumentFormat, taken: ReadonlySet<string>): Promise<Unit> {
    return onceIn(this.#foreign, part, format, () => {
      const { paths, definitions } = withFreeNames(part, taken);
      return this.#pack(format, Object.entries(paths), Object.entries(definitions), {});
    });
  }

  /** `key` tells them apart from other built-in resources. */
  builtIn(key: string, resources: readonly ServedResource[], format: DocumentFormat): Promise<Unit> {
    return this.#keep(`${format.name} built-in ${key}`, () => this.#makeBuiltIn(resources, format));
  }

  /** Schemas that custom units have named. */
  shared(names: readonly string[], format: DocumentFormat): Promise<Unit> {
    return this.#keep(`${format.name} shared ${names.join(' ')}`, () => {
      const known = this.#shared[format.version];
      return this.#pack(
        format,
        [],
        names.map((name) => [name, known.get(name) ?? {}] as const),
        {},
      );
    });
  }

  #keep(key: string, make: () => Promise<Unit>): Promise<Unit> {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    if (this.#kept.size >= maxKept) this.#kept.clear();
    return remembered(this.#kept, key, make());
  }

  async #makeCustom(resource: ServedResource, format: DocumentFormat): Promise<Unit> {
    await this.#options.turns.pause();
    const collector = this.#collector(format);
    const paths: Record<string, PathDocument> = {};
    // Schemas are large, and of most of them nobody ever has an object.
    const described = resource.described?.() ?? resource;
    this.#add(collector, described, format, paths);
    const { group, declaration, type } = described;
    collector.markKind(type, { group, version: declaration.version, kind: declaration.kind });
    const all = Object.entries(collector.schemas);
    const foreign = all.filter(([name]) => !collector.customNames.has(name));
    for (const [name, schema] of foreign)
      if (!this.#shared[format.version].has(name)) this.#shared[format.version].set(name, schema);
    const own = all.filter(([name]) => collector.customNames.has(name));
    return this.#pack(format, Object.entries(paths), own, { shared: foreign.map(([name]) => name) });
  }

  async #makeBuiltIn(resources: readonly ServedResource[], format: DocumentFormat): Promise<Unit> {
    const { scheme, turns } = this.#options;
    const collector = this.#collector(format);
    const paths: Record<string, PathDocument> = {};
    for (const resource of resources) {
      await turns.pause();
      this.#add(collector, resource, format, paths);
    }
    const served = new Set(resources.map(({ apiVersion }) => apiVersion));
    for (const { apiVersion, groupName, version, kind, type } of scheme.kinds) {
      await turns.pause();
      if (served.has(apiVersion)) collector.markKind(type, { group: groupName, version, kind });
    }
    const schemas = Object.entries(collector.schemas);
    return this.#pack(format, Object.entries(paths), schemas, { names: new Set(schemas.map(([name]) => name)) });
  }

  #collector({ version }: DocumentFormat): SchemaCollector {
    const { dialect, scheme } = this.#options;
    return new SchemaCollector(dialect, version, scheme.type('meta.v1.ListMeta'));
  }

  #add(
    schemas: SchemaCollector,
    resource: DescribedResource,
    { version }: DocumentFormat,
    paths: Record<string, PathDocument>,
  ): void {
    const { scheme, dialect, gate } = this.#options;
    addPaths({ scheme, dialect, gate, version, schemas }, resource, paths);
  }

  async #pack(
    format: DocumentFormat,
    paths: readonly (readonly [string, PathDocument])[],
    schemas: readonly (readonly [string, SchemaDocument])[],
    { shared = [], names = noNames }: Partial<Pick<Unit, 'shared' | 'names'>>,
  ): Promise<Unit> {
    const packed = await Promise.all([
      this.#packed(paths, (name, path) => format.path(name, path), format.separator),
      this.#packed(schemas, (name, schema) => format.schema(name, schema), format.separator),
    ]);
    return { paths: packed[0], schemas: packed[1], shared, names };
  }

  async #packed<T>(
    entries: readonly (readonly [string, T])[],
    encode: (name: string, value: T) => Buffer,
    separator: Buffer,
  ): Promise<Packed> {
    const parts: Buffer[] = [];
    for (const [name, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await this.#options.turns.pause();
      if (parts.length > 0 && separator.length > 0) parts.push(separator);
      parts.push(encode(name, value));
    }
    return pack(parts);
  }
}

function onceIn<K extends object>(
  made: WeakMap<K, Map<string, Promise<Unit>>>,
  key: K,
  { name }: DocumentFormat,
  make: () => Promise<Unit>,
): Promise<Unit> {
  let units = made.get(key);
  if (units === undefined) {
    units = new Map();
    made.set(key, units);
  }
  return units.get(name) ?? remembered(units, name, make());
}

/** What failed is tried again by who asks next. */
function remembered(units: Map<string, Promise<Unit>>, key: string, unit: Promise<Unit>): Promise<Unit> {
  units.set(key, unit);
  unit.catch(() => {
    if (units.get(key) === unit) units.delete(key);
  });
  return unit;
}
