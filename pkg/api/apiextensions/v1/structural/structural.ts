/**
 * The structure of a schema for pruning, defaulting and merging. Created part by part on first access, since most
 * objects use little of a large schema. Source: 1.24, …/pkg/apiserver/schema/structural.go.
 */

import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isList } from '#apimachinery/is-list.js';
import { toJSONText } from '#apimachinery/json-text.js';

export class Structural {
  readonly schema: JSONSchemaProps;
  /** Preserves undeclared members. */
  readonly preservesUnknown: boolean;
  /** The definition as a whole preserves undeclared members at every depth. */
  readonly keepsAll: boolean;
  /** The value has its own `apiVersion`, `kind` and `metadata`. */
  readonly isResource: boolean;
  readonly intOrString: boolean;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly listMapKeys: readonly string[];
  readonly isAtomic: boolean;
  /** CEL rules. */
  readonly validations: readonly ValidationRule[];
  readonly dialect: Dialect;
  #properties: ReadonlyMap<string, Structural> | undefined;
  #additional: Structural | boolean | undefined;
  #items: Structural | undefined;
  #preservingItems: Structural | undefined;
  #hasDefaults: boolean | undefined;
  #defaulted: readonly (readonly [string, Structural])[] | undefined;
  #defaultBytes: number | undefined;
  #hasResources: boolean | undefined;
  #hasValidations: boolean | undefined;

  /** `keeps`: preserves undeclared members at every depth, or in the value itself and its elements. */
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

  /** Undefined if there is none. */
  get default(): unknown {
    return this.schema.default;
  }

  /** Size of the default as JSON; zero if there is none. */
  get defaultBytes(): number {
    this.#defaultBytes ??= this.default === undefined ? 0 : Buffer.byteLength(toJSONText(this.default));
    return this.#defaultBytes;
  }

  /** The properties that have a default themselves: an object is compared with them, however many others there are. */
  get defaulted(): readonly (readonly [string, Structural])[] {
    this.#defaulted ??= [...this.properties].filter(([, property]) => property.default !== undefined);
    return this.#defaulted;
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

  /** The schema of members outside of `properties`; undefined if there is none. */
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

  /** The items of a list that preserves its content; they also preserve members. */
  get preservingItems(): Structural | undefined {
    const { items } = this;
    if (items === undefined || items.preservesUnknown) return items;
    this.#preservingItems ??= new Structural(items.schema, this.dialect, 'items');
    return this.#preservingItems;
  }

  /** The schema of a member: undefined if it is undeclared, true if any value is allowed. */
  member(name: string): Structural | true | undefined {
    const property = this.properties.get(name) ?? this.additional;
    return property === false ? undefined : property;
  }

  /** Whether this value or a part of it has a default. */
  get hasDefaults(): boolean {
    this.#hasDefaults ??= this.default !== undefined || this.parts.some((part) => part.hasDefaults);
    return this.#hasDefaults;
  }

  /** Whether this value or a part of it is an embedded object. */
  get hasResources(): boolean {
    this.#hasResources ??= this.isResource || this.parts.some((part) => part.hasResources);
    return this.#hasResources;
  }

  /** Whether this value or a part of it has CEL rules. */
  get hasValidations(): boolean {
    this.#hasValidations ??= this.validations.length > 0 || this.parts.some((part) => part.hasValidations);
    return this.#hasValidations;
  }

  /** The direct child schemas. */
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
