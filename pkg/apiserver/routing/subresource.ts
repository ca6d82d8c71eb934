/** Subresources that are views of the stored object. */
import { pathNotFound } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { getObject } from '#apiserver/registry/get.js';
import { patchObject } from '#apiserver/registry/patch.js';
import { partProfile } from '#apiserver/registry/profiles.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { methodNotServed } from '#apiserver/registry/request-errors.js';
import { updateObject } from '#apiserver/registry/update.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { operationOf } from '#apiserver/subresources/operations.js';

/** Throws 404 for subresources that the resource does not have and 405 for verbs that they do not have. */
export async function serveSubresource(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
): Promise<ApiResponse> {
  const { info } = context;
  const declared = resource.declaration.subresources?.find(({ name }) => name === info.subresource);
  if (declared === undefined) throw pathNotFound();
  if (!declared.verbs.includes(info.verb)) throw methodNotServed(resource.qualified, info.verb);
  const operation = operationOf(resource, info.subresource);
  if (operation !== undefined) return operation(registry, context, resource);
  const profile = partProfile(resource, info.subresource);
  if (profile === undefined) throw pathNotFound();
  if (info.verb === 'get') return getObject(registry, context, resource);
  if (info.verb === 'update') return updateObject(registry, context, resource, profile);
  if (info.verb === 'patch') return patchObject(registry, context, resource, profile);
  throw methodNotServed(resource.qualified, info.verb);
}
