/**
 * Parts of an OpenAPI 2.0 document as Protobuf: the messages of gnostic's `openapi.v2` package
 * (github.com/google/gnostic, openapiv2/OpenAPIv2.proto), which older clients request. Field numbers are that file's.
 */

import type {
  OperationDocument,
  ParameterDocument,
  PathDocument,
  SchemaDocument,
} from '#apiserver/openapi/document-types.js';
import { any, extensions, Message, named, type PathItemFields, pathItem } from '#apiserver/openapi/protobuf-message.js';

/** Fields of `Document`; the entries of `paths` and of `definitions` are adjacent there. */
export const documentV2Fields = { paths: 8, definitions: 9 } as const;

/** The bytes before the paths. */
export function headV2(info: { readonly title: string; readonly version: string }): Buffer {
  return new Message().text(1, '2.0').message(2, new Message().text(1, info.title).text(2, info.version)).bytes();
}

/** An entry of `paths`. */
export function pathV2(name: string, path: PathDocument): Buffer {
  return new Message()
    .message(2, named(name, pathItem(path, pathItemFields, { operationOf, parameterOf: parameterItem })))
    .bytes();
}

/** An entry of `definitions`. */
export function schemaV2(name: string, schema: SchemaDocument): Buffer {
  return new Message().message(1, named(name, schemaOf(schema))).bytes();
}

const pathItemFields: PathItemFields = {
  methods: { get: 2, put: 3, post: 4, delete: 5, patch: 8 },
  parameters: 9,
};

function operationOf(operation: OperationDocument): Message {
  const message = new Message()
    .texts(1, operation.tags)
    .text(3, operation.description)
    .text(5, operation.operationId)
    .texts(6, operation.produces)
    .texts(7, operation.consumes);
  for (const parameter of operation.parameters ?? []) message.message(8, parameterItem(parameter));
  message.message(9, responses(operation.responses));
  return extensions(message, 13, operation);
}

function responses(all: OperationDocument['responses']): Message {
  const message = new Message();
  for (const [code, response] of Object.entries(all)) {
    const { description, schema } = response as { description: string; schema?: SchemaDocument };
    const body = new Message().text(1, description);
    if (schema !== undefined) body.message(2, new Message().message(1, schemaOf(schema)));
    message.message(1, named(code, new Message().message(1, body)));
  }
  return message;
}

/** ParametersItem → Parameter → body, or non-body → query (3) or path (4). */
function parameterItem(parameter: ParameterDocument): Message {
  const { name, in: place, description, required, type, schema } = parameter;
  if (place === 'body') {
    const body = new Message().text(1, description).text(2, name).text(3, place).flag(4, required);
    if (schema !== undefined) body.message(5, schemaOf(schema));
    return new Message().message(1, new Message().message(1, body));
  }
  const subSchema = new Message().flag(1, required).text(2, place).text(3, description).text(4, name);
  subSchema.text(place === 'query' ? 6 : 5, type);
  const nonBody = new Message().message(place === 'query' ? 3 : 4, subSchema);
  return new Message().message(1, new Message().message(2, nonBody));
}

function schemaOf(schema: SchemaDocument): Message {
  const message = new Message()
    .text(1, schema.$ref)
    .text(2, schema.format)
    .text(3, schema.title)
    .text(4, schema.description);
  if (schema.default !== undefined) message.message(5, any(schema.default));
  message
    .number(6, schema.multipleOf)
    .number(7, schema.maximum)
    .flag(8, schema.exclusiveMaximum)
    .number(9, schema.minimum)
    .flag(10, schema.exclusiveMinimum)
    .count(11, schema.maxLength)
    .count(12, schema.minLength)
    .text(13, schema.pattern)
    .count(14, schema.maxItems)
    .count(15, schema.minItems)
    .flag(16, schema.uniqueItems)
    .count(17, schema.maxProperties)
    .count(18, schema.minProperties);
  message.texts(19, schema.required);
  for (const value of schema.enum ?? []) message.message(20, any(value));
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'boolean') message.message(21, new Message().bool(2, additionalProperties));
  else if (additionalProperties !== undefined) {
    message.message(21, new Message().message(1, schemaOf(additionalProperties)));
  }
  if (schema.type !== undefined) message.message(22, new Message().texts(1, [schema.type]));
  if (schema.items !== undefined) message.message(23, new Message().message(1, schemaOf(schema.items)));
  for (const part of schema.allOf ?? []) message.message(24, schemaOf(part));
  if (schema.properties !== undefined) {
    const properties = new Message();
    for (const [name, property] of Object.entries(schema.properties))
      properties.message(1, named(name, schemaOf(property)));
    message.message(25, properties);
  }
  return extensions(message, 31, schema);
}
