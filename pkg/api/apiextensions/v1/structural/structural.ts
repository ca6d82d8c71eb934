/**
 * The structure of custom objects: of a schema, what pruning, defaulting and merging look at. Made part by part when first
 * asked for, since most objects use little of a large schema. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/
 * pkg/apiserver/schema/structural.go.
 */

import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isList } from '#apimachinery/is-list.js';

export class Structural {
  readonly schema: JSONSchemaProps;
  /** Members that the schema does not name are kept. */
  readonly preservesUnknown: boolean;
  /** So are those at every depth: the definition as a whole says so. */
  readonly keepsAll: boolean;
  /** The value has `apiVersion`, `kind` and `metadata` of its own. */
  readonly isResource: boolean;
  readonly intOrString: boolean;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly listMapKeys: readonly string[];
  readonly isAtomic: boolean;
  /** Rules in CEL. */
  readonly validations: readonly ValidationRule[];
  readonly dialect: Dialect;
  #properties: ReadonlyMap<string, Structural> | undefined;
  #additional: Structural | boolean | undefined;
  #items: Structural | undefined;
  #preservingItems: Structural | undefined;
  #hasDefaults: boolean | undefined;
  #hasResources: boolean | undefined;
  #hasValidations: boolean | undefined;

  /** `keeps`: what is not named is kept at every depth, or by the value itself and by its elements. */
  constructor(schema: JSONSchemaProps, dialect: Dialect, keeps?: 'all' | 'items') {
    const extensions = extensionsOf(schema, dialect);
    this.schema = schema;
    this.dialect = dialect;
    this.keepsAll = keeps === 'all';
    this.preservesUnknown = keeps !== undefined || extensions.preserveUnknownFields === true;
    this.isResource = extensions.embeddedResource;
    this.intOrString = extensions.intOrString;
    this.listType = listTypeOf(extensions.listType);
    this.listMapKeys = extensions.listMapKeys;
    this.isAtomic = extensions.mapType === 'atomic';
    this.validations = extensions.validations;
  }

  get type(): string {
    return this.schema.type ?? '';
  }

  get nullable(): boolean {
    return this.schema.nullable === true;
  }

  /** Undefined: it has none. */
  get default(): unknown {
    return this.schema.default;
  }

  get properties(): ReadonlyMap<string, Structural> {
    this.#properties ??= new Map(
      Object.entries(this.schema.properties ?? {}).map(([name, schema]) => [
        name,
        new Structural(schema, this.dialect),
      ]),
    );
    return this.#properties;
  }

  /** Of members that `properties` does not name; undefined: there are none. */
  get additional(): Structural | boolean | undefined {
    const { additionalProperties: given } = this.schema;
    if (typeof given !== 'object') return given === false ? undefined : given;
    this.#additional ??= new Structural(given, this.dialect);
    return this.#additional;
  }

  get items(): Structural | undefined {
    const { items } = this.schema;
    if (items === undefined || isList(items)) return undefined;
    this.#items ??= new Structural(items, this.dialect);
    return this.#items;
  }

  /** The items of a list that keeps what is in it: they keep members, too. */
  get preservingItems(): Structural | undefined {
    const { items } = this;
    if (items === undefined || items.preservesUnknown) return items;
    this.#preservingItems ??= new Structural(items.schema, this.dialect, 'items');
    return this.#preservingItems;
  }

  /** Of a member: undefined where nothing is known of it, true where anything is allowed. */
  member(name: string): Structural | true | undefined {
    const found = this.properties.get(name) ?? this.additional;
    return found === false ? undefined : found;
  }

  /** Whether this value or one below it may be filled in. */
  get hasDefaults(): boolean {
    this.#hasDefaults ??= this.default !== undefined || this.parts.some((part) => part.hasDefaults);
    return this.#hasDefaults;
  }

  /** Whether this value or one below it is an object of its own. */
  get hasResources(): boolean {
    this.#hasResources ??= this.isResource || this.parts.some((part) => part.hasResources);
    return this.#hasResources;
  }

  /** Whether there are rules for this value or one below it. */
  get hasValidations(): boolean {
    this.#hasValidations ??= this.validations.length > 0 || this.parts.some((part) => part.hasValidations);
    return this.#hasValidations;
  }

  /** The schemas right below. */
  get parts(): readonly Structural[] {
    const { additional, items } = this;
    return [
      ...this.properties.values(),
      ...(typeof additional === 'object' ? [additional] : []),
      ...(items === undefined ? [] : [items]),
    ];
  }
}

function listTypeOf(text: string | undefined): Structural['listType'] {
  return text === 'set' || text === 'map' ? text : 'atomic';
}

type Members = Record<string, unknown>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
