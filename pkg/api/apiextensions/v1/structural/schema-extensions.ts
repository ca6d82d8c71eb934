/** Reads the product's extensions of schemas, whose names depend on the dialect. */
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/once-per.js';

export interface SchemaExtensions {
  readonly preserveUnknownFields: boolean | undefined;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listMapKeys: readonly string[];
  readonly listType: string | undefined;
  readonly mapType: string | undefined;
  readonly validations: readonly ValidationRule[];
}

/** Names of the members. Cached: there are many schemas, and each concatenated name would be interned again. */
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

/** The extensions of a schema; absent lists are empty and absent flags false. */
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
