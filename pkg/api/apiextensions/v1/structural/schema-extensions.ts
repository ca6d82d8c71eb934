/** Readers of the product's own members of schemas, whose names depend on the dialect. */
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';

export interface SchemaExtensions {
  readonly preserveUnknownFields: boolean | undefined;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listMapKeys: readonly string[];
  readonly listType: string | undefined;
  readonly mapType: string | undefined;
  readonly validations: readonly ValidationRule[];
}

/** The members' names. Made once: schemas are many, and joined texts are looked up among all names that there are. */
const namesOf = perDialect(({ extensionPrefix }) => ({
  preserveUnknownFields: `${extensionPrefix}preserve-unknown-fields`,
  embeddedResource: `${extensionPrefix}embedded-resource`,
  intOrString: `${extensionPrefix}int-or-string`,
  listMapKeys: `${extensionPrefix}list-map-keys`,
  listType: `${extensionPrefix}list-type`,
  mapType: `${extensionPrefix}map-type`,
  validations: `${extensionPrefix}validations`,
}));

const none: readonly never[] = [];

/** The extensions of one schema; absent lists and flags are empty and false. */
export function extensionsOf(schema: JSONSchemaProps, dialect: Dialect): SchemaExtensions {
  const names = namesOf(dialect);
  const members = schema as Readonly<Record<string, unknown>>;
  return {
    preserveUnknownFields: members[names.preserveUnknownFields] as boolean | undefined,
    embeddedResource: members[names.embeddedResource] === true,
    intOrString: members[names.intOrString] === true,
    listMapKeys: (members[names.listMapKeys] as string[] | undefined) ?? none,
    listType: members[names.listType] as string | undefined,
    mapType: members[names.mapType] as string | undefined,
    validations: (members[names.validations] as ValidationRule[] | undefined) ?? none,
  };
}
