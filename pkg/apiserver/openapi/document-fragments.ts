/**
 * Fragments of documents: the entries of a custom resource, of a document's built-in resources, and of types that several
 * custom resources share. Each is built on first use, in turns, and kept compressed as long as its resources are served.
 */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { type ForeignPart, withFreeNames } from '#apiserver/openapi/aggregated-documents.js';
import type { DocumentFormat } from '#apiserver/openapi/document-formats.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';
import { addPaths } from '#apiserver/openapi/operations.js';
import { type OpenApiVersion, openAPIEnumsGate, SchemaCollector } from '#apiserver/openapi/schemas.js';
import { type DeflatedPart, deflatePart } from '#apiserver/representation/gzip-document.js';
import type { DescribedResource, ServedResource } from '#apiserver/resources/served-resource.js';

export interface Fragment {
  readonly paths: DeflatedPart;
  readonly schemas: DeflatedPart;
  /** Names of schemas outside of the fragment that it refers to. */
  readonly shared: readonly string[];
  /** Names of its own schemas; empty for custom resources, whose names are unique. */
  readonly names: ReadonlySet<string>;
}

export interface FragmentsOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  readonly turns: Pick<TurnQueue, 'pause'>;
  /** True if the feature gate is on. */
  readonly gate: (name: string) => boolean;
}

const noNames: ReadonlySet<string> = new Set();
/** Limit of cached built-in fragments and sets of shared types: one per group version, and one or two sets. */
const maxKept = 256;

export class Fragments {
  readonly #options: FragmentsOptions;
  readonly #custom = new WeakMap<ServedResource, Map<string, Promise<Fragment>>>();
  readonly #foreign = new WeakMap<ForeignPart, Map<string, Promise<Fragment>>>();
  /** Fragments by format and content. */
  readonly #fragments = new Map<string, Promise<Fragment>>();
  /** Schemas of types that custom resources refer to. */
  readonly #shared: Readonly<Record<OpenApiVersion, Map<string, SchemaDocument>>> = { 2: new Map(), 3: new Map() };

  constructor(options: FragmentsOptions) {
    this.#options = options;
  }

  /** Pauses long work on fragments. */
  get turns(): FragmentsOptions['turns'] {
    return this.#options.turns;
  }

  /** Rejects if the resource's definition is gone. */
  custom(resource: ServedResource, format: DocumentFormat): Promise<Fragment> {
    return onceIn(this.#custom, resource, format, () => this.#makeCustom(resource, format));
  }

  foreign(part: ForeignPart, format: DocumentFormat, usedNames: ReadonlySet<string>): Promise<Fragment> {
    return onceIn(this.#foreign, part, format, () => {
      const { paths, definitions } = withFreeNames(part, usedNames);
      return this.#fragment(format, Object.entries(paths), Object.entries(definitions), {});
    });
  }

  /** `key` distinguishes sets of built-in resources. */
  builtIn(key: string, resources: readonly ServedResource[], format: DocumentFormat): Promise<Fragment> {
    return this.#cached(`${format.name} built-in ${key}`, () => this.#makeBuiltIn(resources, format));
  }

  /** Schemas that custom fragments refer to. */
  shared(names: readonly string[], format: DocumentFormat): Promise<Fragment> {
    return this.#cached(`${format.name} shared ${names.join(' ')}`, () => {
      const schemas = this.#shared[format.version];
      return this.#fragment(
        format,
        [],
        names.map((name) => [name, schemas.get(name) ?? {}] as const),
        {},
      );
    });
  }

  #cached(key: string, make: () => Promise<Fragment>): Promise<Fragment> {
    const cached = this.#fragments.get(key);
    if (cached !== undefined) return cached;
    if (this.#fragments.size >= maxKept) this.#fragments.clear();
    return cacheUntilFailure(this.#fragments, key, make());
  }

  async #makeCustom(resource: ServedResource, format: DocumentFormat): Promise<Fragment> {
    await this.#options.turns.pause();
    const collector = this.#collector(format);
    const paths: Record<string, PathDocument> = {};
    // Do not cache the description: schemas are large, and most are rarely used.
    const described = resource.described?.() ?? resource;
    this.#add(collector, described, format, paths);
    const { group, declaration, type } = described;
    collector.markKind(type, { group, version: declaration.version, kind: declaration.kind });
    const all = Object.entries(collector.schemas);
    const foreign = all.filter(([name]) => !collector.customNames.has(name));
    for (const [name, schema] of foreign)
      if (!this.#shared[format.version].has(name)) this.#shared[format.version].set(name, schema);
    const customSchemas = all.filter(([name]) => collector.customNames.has(name));
    return this.#fragment(format, Object.entries(paths), customSchemas, { shared: foreign.map(([name]) => name) });
  }

  async #makeBuiltIn(resources: readonly ServedResource[], format: DocumentFormat): Promise<Fragment> {
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
    return this.#fragment(format, Object.entries(paths), schemas, { names: new Set(schemas.map(([name]) => name)) });
  }

  #collector({ version }: DocumentFormat): SchemaCollector {
    const { dialect, scheme, gate } = this.#options;
    const enums = gate(openAPIEnumsGate);
    return new SchemaCollector(dialect, version, { listMeta: scheme.type('meta.v1.ListMeta'), enums });
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

  async #fragment(
    format: DocumentFormat,
    paths: readonly (readonly [string, PathDocument])[],
    schemas: readonly (readonly [string, SchemaDocument])[],
    { shared = [], names = noNames }: Partial<Pick<Fragment, 'shared' | 'names'>>,
  ): Promise<Fragment> {
    const packed = await Promise.all([
      this.#deflated(paths, (name, path) => format.path(name, path), format.separator),
      this.#deflated(schemas, (name, schema) => format.schema(name, schema), format.separator),
    ]);
    return { paths: packed[0], schemas: packed[1], shared, names };
  }

  async #deflated<T>(
    entries: readonly (readonly [string, T])[],
    encode: (name: string, value: T) => Buffer,
    separator: Buffer,
  ): Promise<DeflatedPart> {
    const parts: Buffer[] = [];
    for (const [name, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await this.#options.turns.pause();
      if (parts.length > 0 && separator.length > 0) parts.push(separator);
      parts.push(encode(name, value));
    }
    return deflatePart(parts);
  }
}

function onceIn<K extends object>(
  cache: WeakMap<K, Map<string, Promise<Fragment>>>,
  key: K,
  { name }: DocumentFormat,
  make: () => Promise<Fragment>,
): Promise<Fragment> {
  let units = cache.get(key);
  if (units === undefined) {
    units = new Map();
    cache.set(key, units);
  }
  return units.get(name) ?? cacheUntilFailure(units, name, make());
}

/** Caches a fragment; a failed one is rebuilt at the next request. */
function cacheUntilFailure(
  units: Map<string, Promise<Fragment>>,
  key: string,
  unit: Promise<Fragment>,
): Promise<Fragment> {
  units.set(key, unit);
  unit.catch(() => {
    if (units.get(key) === unit) units.delete(key);
  });
  return unit;
}
