/** The object in a request's body. */
import type { ApiObjectShape } from '#api/object.js';
import type { FieldValidation } from '#apimachinery/codec/json.js';
import { badRequest, unsupportedMediaType } from '#apimachinery/errors/status.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import { type Format, formatOf, mediaTypeOf } from '#apiserver/http/media-type.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { TypeRef } from '#apiserver/representation/codec.js';

/** The body's format; JSON where the request does not say. Throws 415. */
export function bodyFormat(registry: RegistryContext, context: RequestContext): Format {
  const contentType = context.request.headers['content-type'];
  if (contentType === undefined || contentType === '') return 'json';
  const format = formatOf(contentType, registry.dialect);
  if (format !== undefined) return format;
  throw unsupportedMediaType((['json', 'yaml', 'protobuf'] as const).map((f) => mediaTypeOf(f, registry.dialect)));
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
): ApiObjectShape {
  const format = bodyFormat(registry, context);
  if (context.request.body.length === 0) throw badRequest('EOF');
  const { object, warnings } = registry.codec.decode(context.request.body, format, expected, fieldValidation);
  for (const text of warnings) warn(context, text);
  requireType(object, expected);
  return object;
}

function requireType(object: ApiObjectShape, expected: TypeRef): void {
  if (object.apiVersion !== expected.apiVersion) {
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${expected.apiVersion})`,
    );
  }
  if (object.kind !== expected.kind) {
    throw badRequest(`${object.kind} in version "${object.apiVersion}" cannot be handled as a ${expected.kind}`);
  }
}
