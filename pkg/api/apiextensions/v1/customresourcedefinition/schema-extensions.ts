/** Readers of the product's own members of schemas, whose names depend on the dialect. */
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface SchemaExtensions {
  readonly preserveUnknownFields: boolean | undefined;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listMapKeys: readonly string[];
  readonly listType: string | undefined;
  readonly mapType: string | undefined;
  readonly validations: readonly ValidationRule[];
}

/** The extensions of one schema; absent lists and flags are empty and false. */
export function extensionsOf(schema: JSONSchemaProps, dialect: Dialect): SchemaExtensions {
  const read = (name: string): unknown => Reflect.get(schema, dialect.extensionPrefix + name);
  return {
    preserveUnknownFields: read('preserve-unknown-fields') as boolean | undefined,
    embeddedResource: read('embedded-resource') === true,
    intOrString: read('int-or-string') === true,
    listMapKeys: (read('list-map-keys') as string[] | undefined) ?? [],
    listType: read('list-type') as string | undefined,
    mapType: read('map-type') as string | undefined,
    validations: (read('validations') as ValidationRule[] | undefined) ?? [],
  };
}
