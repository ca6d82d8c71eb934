/** The parts of OpenAPI documents (2.0 and 3.0) that this server writes. Extensions are members that begin with `x-`. */

export interface SchemaDocument {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  required?: readonly string[];
  items?: SchemaDocument;
  additionalProperties?: SchemaDocument | boolean;
  properties?: Record<string, SchemaDocument>;
  allOf?: readonly SchemaDocument[];
  oneOf?: readonly SchemaDocument[];
  anyOf?: readonly SchemaDocument[];
  not?: SchemaDocument;
  title?: string;
  nullable?: boolean;
  multipleOf?: number;
  maximum?: number;
  exclusiveMaximum?: boolean;
  minimum?: number;
  exclusiveMinimum?: boolean;
  maxLength?: number;
  minLength?: number;
  pattern?: string;
  maxItems?: number;
  minItems?: number;
  uniqueItems?: boolean;
  maxProperties?: number;
  minProperties?: number;
  [extension: `x-${string}`]: unknown;
}

export interface ParameterDocument {
  readonly name: string;
  readonly in: 'query' | 'path' | 'body';
  readonly description?: string;
  readonly required?: boolean;
  /** 2.0, query and path. */
  readonly type?: string;
  readonly uniqueItems?: boolean;
  /** 2.0 body, and everything in 3.0. */
  readonly schema?: SchemaDocument;
}

export interface OperationDocument {
  readonly description: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly consumes?: readonly string[];
  readonly produces?: readonly string[];
  readonly parameters?: readonly ParameterDocument[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
  [extension: `x-${string}`]: unknown;
}

export type PathDocument = Record<string, OperationDocument | readonly ParameterDocument[]>;
