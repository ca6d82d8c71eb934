/** The parts of a server's OpenAPI v2 document that are used. */

/** The used parts of a schema; other members are ignored. */
export interface DocumentSchema {
  readonly $ref?: unknown;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly items?: DocumentSchema;
  readonly additionalProperties?: DocumentSchema | boolean;
  readonly [extension: `x-${string}`]: unknown;
}

interface DocumentOperation {
  readonly parameters?: readonly { readonly name?: unknown; readonly in?: unknown }[];
  readonly [extension: `x-${string}`]: unknown;
}

export interface OpenAPIDocument {
  readonly definitions?: Readonly<Record<string, DocumentSchema>>;
  readonly paths?: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
}
