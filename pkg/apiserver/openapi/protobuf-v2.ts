/**
 * An OpenAPI 2.0 document as Protobuf: the messages of gnostic's `openapi.v2` package
 * (github.com/google/gnostic, openapiv2/OpenAPIv2.proto), which older clients ask for. Field numbers are that file's.
 */
import { stringify } from 'yaml';
import type { DocumentV2 } from '#apiserver/openapi/documents.js';
import type { OperationDocument, ParameterDocument, PathDocument, SchemaDocument } from '#apiserver/openapi/model.js';

/** One message under construction: fields are appended in the order of the calls. */
class Message {
  readonly #parts: Buffer[] = [];
  #size = 0;

  text(field: number, value: string | undefined): this {
    if (value === undefined || value === '') return this;
    return this.#delimited(field, [Buffer.from(value)]);
  }

  texts(field: number, values: readonly string[] | undefined): this {
    for (const value of values ?? []) this.#delimited(field, [Buffer.from(value)]);
    return this;
  }

  flag(field: number, value: boolean | undefined): this {
    if (value !== true) return this;
    return this.#push([varint(field * 8), Buffer.from([1])]);
  }

  message(field: number, value: Message | undefined): this {
    return value === undefined ? this : this.#delimited(field, value.#parts);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts, this.#size);
  }

  #delimited(field: number, parts: readonly Buffer[]): this {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    return this.#push([varint(field * 8 + 2), varint(size)]).#push(parts);
  }

  /** Parts of a whole document are more than the arguments that a call can have. */
  #push(parts: readonly Buffer[]): this {
    for (const part of parts) {
      this.#parts.push(part);
      this.#size += part.length;
    }
    return this;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

export function encodeDocumentV2(document: DocumentV2): Buffer {
  const info = new Message().text(1, document.info.title).text(2, document.info.version);
  const paths = new Message();
  for (const [name, path] of Object.entries(document.paths)) paths.message(2, named(name, pathItem(path)));
  const definitions = new Message();
  for (const [name, schema] of Object.entries(document.definitions))
    definitions.message(1, named(name, schemaOf(schema)));
  return new Message().text(1, document.swagger).message(2, info).message(8, paths).message(9, definitions).bytes();
}

function named(name: string, value: Message): Message {
  return new Message().text(1, name).message(2, value);
}

/** A value of any type: its YAML. */
function any(value: unknown): Message {
  return new Message().text(2, stringify(value));
}

function extensions(target: Message, field: number, source: object): Message {
  for (const [name, value] of Object.entries(source)) {
    if (name.startsWith('x-')) target.message(field, named(name, any(value)));
  }
  return target;
}

const methodFields: readonly (readonly [string, number])[] = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
];

function pathItem(path: PathDocument): Message {
  const message = new Message();
  for (const [method, field] of methodFields) {
    const operation = path[method];
    if (operation !== undefined) message.message(field, operationOf(operation as OperationDocument));
  }
  for (const parameter of (path['parameters'] ?? []) as readonly ParameterDocument[]) {
    message.message(9, parameterItem(parameter));
  }
  return message;
}

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
  const own = new Message().flag(1, required).text(2, place).text(3, description).text(4, name);
  own.text(place === 'query' ? 6 : 5, type);
  const nonBody = new Message().message(place === 'query' ? 3 : 4, own);
  return new Message().message(1, new Message().message(2, nonBody));
}

function schemaOf(schema: SchemaDocument): Message {
  const message = new Message().text(1, schema.$ref).text(2, schema.format).text(4, schema.description);
  if (schema.default !== undefined) message.message(5, any(schema.default));
  message.texts(19, schema.required);
  for (const value of schema.enum ?? []) message.message(20, any(value));
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'boolean') message.message(21, new Message().flag(2, additionalProperties));
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
