/** Subresources that are views of the stored object. */

import { notFound, pathNotFound } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { getObject } from '#apiserver/registry/get.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { patchObject } from '#apiserver/registry/patch.js';
import { partProfile } from '#apiserver/registry/profiles.js';
import { partMethodNotServed } from '#apiserver/registry/request-errors.js';
import { updateObject } from '#apiserver/registry/update.js';
import { operationOf } from '#apiserver/subresources/operations.js';

/** Throws 404 for subresources that the resource does not have and 405 for verbs that they do not have. */
export async function serveSubresource(operation: Operation): Promise<ApiResponse> {
  const { context, resource } = operation;
  const { info } = context;
  const declared = resource.declaration.subresources?.find(({ name }) => name === info.subresource);
  if (declared === undefined) {
    throw resource.edition === undefined ? pathNotFound() : notFound(resource.qualified, info.name);
  }
  if (!declared.verbs.includes(info.verb)) throw partMethodNotServed(resource, info.verb);
  const handler = operationOf(resource, info.subresource);
  if (handler !== undefined) return handler(operation);
  const profile = partProfile(resource, info.subresource);
  if (profile === undefined) throw pathNotFound();
  if (info.verb === 'get') return getObject(operation);
  if (info.verb === 'update') return updateObject(operation, profile);
  if (info.verb === 'patch') return patchObject(operation, profile);
  throw partMethodNotServed(resource, info.verb);
}
