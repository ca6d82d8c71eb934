/** An entry of an OpenAPI document's paths as Protobuf; both versions have the same members, with other numbers. */
import { Message } from '#apiserver/openapi/message.js';
import type { OperationDocument, ParameterDocument, PathDocument } from '#apiserver/openapi/model.js';

export interface PathItemFields {
  /** Field numbers by method, in their order. */
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
