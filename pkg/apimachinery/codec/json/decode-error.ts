/** Errors of decoders, before the request is known. */
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, type StatusError } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Input that is not an object of its type. The message is the innermost reason. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** The 400 of release 1.24 for a body that cannot be decoded as an object of the type. */
export function decodeFailure(type: TypeInfo, reason: unknown): StatusError {
  const message = messageOf(reason);
  const version = type.goName.slice(0, type.goName.indexOf('.'));
  const kind = type.shortName;
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${message}`, reason);
}
