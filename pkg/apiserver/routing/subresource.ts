/** Subresources that are views of the stored object. */
import { pathNotFound } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { getObject } from '#apiserver/registry/get.js';
import type { UpdateProfile } from '#apiserver/registry/mutate.js';
import { patchObject } from '#apiserver/registry/patch.js';
import {
  approvalProfile,
  ephemeralContainersProfile,
  finalizeProfile,
  statusProfile,
} from '#apiserver/registry/profiles.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { methodNotServed } from '#apiserver/registry/request-errors.js';
import { updateObject } from '#apiserver/registry/update.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { bindPod } from '#apiserver/subresources/binding.js';
import { evictPod } from '#apiserver/subresources/eviction.js';
import { serveScale } from '#apiserver/subresources/scale.js';

type Operation = (registry: RegistryContext, context: RequestContext, resource: ServedResource) => Promise<ApiResponse>;

/** Parts of the object itself that have their own rules of change. */
const profiles: Readonly<Record<string, (resource: ServedResource) => UpdateProfile>> = {
  status: statusProfile,
  finalize: () => finalizeProfile,
  ephemeralcontainers: ephemeralContainersProfile,
  approval: approvalProfile,
};

/** Subresources with a kind of their own. */
const operations: Readonly<Record<string, Operation>> = {
  scale: serveScale,
  binding: bindPod,
  eviction: evictPod,
};

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
  const operation = operations[info.subresource];
  if (operation !== undefined) return operation(registry, context, resource);
  const profile = profiles[info.subresource]?.(resource);
  if (profile === undefined) throw pathNotFound();
  if (info.verb === 'get') return getObject(registry, context, resource);
  if (info.verb === 'update') return updateObject(registry, context, resource, profile);
  if (info.verb === 'patch') return patchObject(registry, context, resource, profile);
  throw methodNotServed(resource.qualified, info.verb);
}
