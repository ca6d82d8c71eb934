/** Builds a Protobuf message: fields are appended in the order of the calls. */

import protobuf from 'protobufjs/minimal.js';
import { stringify } from 'yaml';
import type { OperationDocument, ParameterDocument, PathDocument } from '#apiserver/openapi/document-types.js';

export class Message {
  readonly #writer = protobuf.Writer.create();

  text(field: number, value: string | undefined): this {
    return value === undefined || value === '' ? this : this.#text(field, value);
  }

  texts(field: number, values: readonly string[] | undefined): this {
    for (const value of values ?? []) this.#text(field, value);
    return this;
  }

  /** A `bool`; false is omitted. */
  flag(field: number, value: boolean | undefined): this {
    return value === true ? this.bool(field, value) : this;
  }

  /** A `bool` that is written even if false. */
  bool(field: number, value: boolean): this {
    this.#writer.uint32(field * 8).bool(value);
    return this;
  }

  /** An `int64` that is not negative. */
  count(field: number, value: number | undefined): this {
    if (value !== undefined && value > 0) this.#writer.uint32(field * 8).int64(value);
    return this;
  }

  /** A `double`. */
  number(field: number, value: number | undefined): this {
    if (value !== undefined) this.#writer.uint32(field * 8 + 1).double(value);
    return this;
  }

  message(field: number, value: Message | undefined): this {
    if (value !== undefined) this.#writer.uint32(field * 8 + 2).bytes(value.bytes());
    return this;
  }

  bytes(): Buffer {
    return this.#writer.finish() as Buffer;
  }

  #text(field: number, value: string): this {
    this.#writer.uint32(field * 8 + 2).string(value);
    return this;
  }
}

/** The bytes before a message of that length. */
export function delimiter(field: number, length: number): Buffer {
  return protobuf.Writer.create()
    .uint32(field * 8 + 2)
    .uint32(length)
    .finish() as Buffer;
}

/** An entry of a map. */
export function named(name: string, value: Message): Message {
  return new Message().text(1, name).message(2, value);
}

/** gnostic's `Any`: a value of any type as YAML. */
export function any(value: unknown): Message {
  // YAML accepts JSON numbers, booleans, lists and maps.
  return new Message().text(2, typeof value === 'string' ? stringify(value) : `${JSON.stringify(value)}\n`);
}

/** Adds the members that begin with `x-`. */
export function extensions(target: Message, field: number, source: object): Message {
  for (const [name, value] of Object.entries(source)) {
    if (name.startsWith('x-')) target.message(field, named(name, any(value)));
  }
  return target;
}

export interface PathItemFields {
  /** Field numbers by method, in ascending order. */
  readonly methods: Readonly<Record<string, number>>;
  readonly parameters: number;
}

export interface PathItemParts {
  operationOf(operation: OperationDocument): Message;
  parameterOf(parameter: ParameterDocument): Message;
}

export function pathItem(
  path: PathDocument,
  fields: PathItemFields,
  { operationOf, parameterOf }: PathItemParts,
): Message {
  const message = new Message();
  for (const [method, field] of Object.entries(fields.methods)) {
    const operation = path[method];
    if (operation !== undefined) message.message(field, operationOf(operation as OperationDocument));
  }
  for (const parameter of (path['parameters'] ?? []) as readonly ParameterDocument[]) {
    message.message(fields.parameters, parameterOf(parameter));
  }
  return message;
}
