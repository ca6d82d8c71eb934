/** The object in a request's body. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { andThen, inSteps, type MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { FieldValidation } from '#apimachinery/codec/json/json.js';
import { type Encoding, requestEncoding } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import { pauseOf } from '#apiserver/registry/steps.js';
import type { Codec, Decoded, TypeRef } from '#apiserver/resources/codec.js';

export interface BodyReader {
  readonly dialect: Dialect;
  readonly codec: Codec;
  /** For bodies that are long work to read. */
  readonly turns: TurnQueue;
}

/** The body's encoding; JSON where the request does not say. Throws 415. */
export function bodyEncoding({ dialect }: Pick<BodyReader, 'dialect'>, context: RequestContext): Encoding {
  return requestEncoding(context.request.headers['content-type'], dialect);
}

/**
 * The body as an object of `expected`. Throws 415 for its media type, 400 for what cannot be decoded, for another kind,
 * and (with fieldValidation=Strict) for unknown and repeated fields, which otherwise become warnings.
 */
export function readBody(
  reader: BodyReader,
  context: RequestContext,
  expected: TypeRef,
  fieldValidation: FieldValidation,
): MaybePromise<Draft<ApiObjectShape>> {
  const encoding = bodyEncoding(reader, context);
  const { body, repeatedKeys, yamlFault } = context.request;
  const read = ({ object, warnings }: Decoded): Draft<ApiObjectShape> => {
    context.audit?.requested(object);
    for (const text of warnings) warn(context, text);
    return object;
  };
  const options = { validation: fieldValidation, repeatedKeys, yamlFault };
  const steps = reader.codec.decodeSteps(body, encoding, expected, options);
  return andThen(inSteps(steps, pauseOf({ registry: reader, context })), read);
}
