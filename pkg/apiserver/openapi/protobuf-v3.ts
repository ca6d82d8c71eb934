/**
 * Parts of an OpenAPI 3.0 document as Protobuf: the messages of gnostic's `openapi.v3` package
 * (github.com/google/gnostic, openapiv3/OpenAPIv3.proto). Field numbers are that file's.
 */

import type {
  OperationDocument,
  ParameterDocument,
  PathDocument,
  SchemaDocument,
} from '#apiserver/openapi/document-types.js';
import { any, extensions, Message, named, type PathItemFields, pathItem } from '#apiserver/openapi/protobuf-message.js';

/** Fields of `Document`, and the only used field of `Components`. */
export const documentV3Fields = { paths: 4, components: 5, schemas: 1 } as const;

/** The bytes before the paths. */
export function headV3(info: { readonly title: string; readonly version: string }): Buffer {
  return new Message().text(1, '3.0.0').message(2, new Message().text(1, info.title).text(6, info.version)).bytes();
}

/** An entry of `paths`. */
export function pathV3(name: string, path: PathDocument): Buffer {
  return new Message()
    .message(1, named(name, pathItem(path, pathItemFields, { operationOf, parameterOf: parameterOrReference })))
    .bytes();
}

/** An entry of the schemas of `components`. */
export function schemaV3(name: string, schema: SchemaDocument): Buffer {
  return new Message().message(1, named(name, schemaOrReference(schema))).bytes();
}

const pathItemFields: PathItemFields = {
  methods: { get: 4, put: 5, post: 6, delete: 7, patch: 10 },
  parameters: 13,
};

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: SchemaDocument }>>;
  readonly required?: boolean;
  readonly description?: string;
}

function operationOf(operation: OperationDocument): Message {
  const message = new Message().texts(1, operation.tags).text(3, operation.description).text(5, operation.operationId);
  for (const parameter of operation.parameters ?? []) message.message(6, parameterOrReference(parameter));
  if (operation.requestBody !== undefined) {
    const { content, required } = operation.requestBody as Body;
    message.message(7, new Message().message(1, new Message().message(2, mediaTypes(content)).flag(3, required)));
  }
  const responses = new Message();
  for (const [code, response] of Object.entries(operation.responses)) {
    const { description, content } = response as Body;
    const body = new Message().text(1, description).message(3, content === undefined ? undefined : mediaTypes(content));
    responses.message(2, named(code, new Message().message(1, body)));
  }
  return extensions(message.message(8, responses), 13, operation);
}

function mediaTypes(content: Body['content'] = {}): Message {
  const message = new Message();
  for (const [type, { schema }] of Object.entries(content)) {
    message.message(1, named(type, new Message().message(1, schemaOrReference(schema))));
  }
  return message;
}

function parameterOrReference({ name, in: place, description, required, schema }: ParameterDocument): Message {
  const parameter = new Message().text(1, name).text(2, place).text(3, description).flag(4, required);
  if (schema !== undefined) parameter.message(10, schemaOrReference(schema));
  return new Message().message(1, parameter);
}

function schemaOrReference(schema: SchemaDocument): Message {
  if (schema.$ref !== undefined) return new Message().message(2, new Message().text(1, schema.$ref));
  return new Message().message(1, schemaOf(schema));
}

function schemaOf(schema: SchemaDocument): Message {
  const message = new Message()
    .flag(1, schema.nullable)
    .text(9, schema.title)
    .number(10, schema.multipleOf)
    .number(11, schema.maximum)
    .flag(12, schema.exclusiveMaximum)
    .number(13, schema.minimum)
    .flag(14, schema.exclusiveMinimum)
    .count(15, schema.maxLength)
    .count(16, schema.minLength)
    .text(17, schema.pattern)
    .count(18, schema.maxItems)
    .count(19, schema.minItems)
    .flag(20, schema.uniqueItems)
    .count(21, schema.maxProperties)
    .count(22, schema.minProperties)
    .texts(23, schema.required);
  for (const value of schema.enum ?? []) message.message(24, any(value));
  message.text(25, schema.type);
  for (const part of schema.allOf ?? []) message.message(26, schemaOrReference(part));
  for (const part of schema.oneOf ?? []) message.message(27, schemaOrReference(part));
  for (const part of schema.anyOf ?? []) message.message(28, schemaOrReference(part));
  if (schema.not !== undefined) message.message(29, schemaOf(schema.not));
  if (schema.items !== undefined) message.message(30, new Message().message(1, schemaOrReference(schema.items)));
  if (schema.properties !== undefined) {
    const properties = new Message();
    for (const [name, property] of Object.entries(schema.properties)) {
      properties.message(1, named(name, schemaOrReference(property)));
    }
    message.message(31, properties);
  }
  const { additionalProperties: additional } = schema;
  if (typeof additional === 'boolean') message.message(32, new Message().bool(2, additional));
  else if (additional !== undefined) message.message(32, new Message().message(1, schemaOrReference(additional)));
  return extensions(
    message.message(33, defaultOf(schema.default)).text(34, schema.description).text(35, schema.format),
    36,
    schema,
  );
}

/** The default as a message; only primitive values have a field. */
function defaultOf(value: unknown): Message | undefined {
  if (typeof value === 'number') return new Message().number(1, value);
  if (typeof value === 'boolean') return new Message().bool(2, value);
  return typeof value === 'string' ? new Message().text(3, value) : undefined;
}
