/** The object in a request's body. */
import type { ApiObjectShape } from '#api/object.js';
import type { FieldValidation } from '#apimachinery/codec/json/json.js';
import { type Encoding, requestEncoding } from '#apimachinery/codec/negotiate.js';
import type { NowOrLater } from '#apimachinery/now-or-later.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { betweenSteps, inSteps, isLarge } from '#apiserver/registry/steps.js';
import type { Decoded, TypeRef } from '#apiserver/resources/codec.js';

/** The body's encoding; JSON where the request does not say. Throws 415. */
export function bodyEncoding(registry: RegistryContext, context: RequestContext): Encoding {
  return requestEncoding(context.request.headers['content-type'], registry.dialect);
}

/**
 * The body as an object of `expected`. Throws 415 for its media type, 400 for what cannot be decoded, for another kind,
 * and (with fieldValidation=Strict) for unknown fields, which otherwise become warnings.
 */
export function readBody(
  registry: RegistryContext,
  context: RequestContext,
  expected: TypeRef,
  fieldValidation: FieldValidation,
): NowOrLater<ApiObjectShape> {
  const encoding = bodyEncoding(registry, context);
  const { body } = context.request;
  const read = ({ object, warnings }: Decoded): ApiObjectShape => {
    for (const text of warnings) warn(context, text);
    return object;
  };
  if (!isLarge(context)) return read(registry.codec.decode(body, encoding, expected, fieldValidation));
  const steps = registry.codec.decodeSteps(body, encoding, expected, fieldValidation);
  return inSteps(steps, () => betweenSteps(context)).then(read);
}
