import type { ApiObjectShape } from '#api/object.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { flag } from '#apiserver/http/request-info.js';
import { insert } from '#apiserver/registry/create.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { type Mutated, mutate, type UpdateProfile } from '#apiserver/registry/mutate.js';
import { applyPatch, type Patch, readPatch } from '#apiserver/registry/patch-body.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';
import { requireName } from '#apiserver/registry/update.js';
import { type WriteOptions, writeOptions } from '#apiserver/registry/write-options.js';

/**
 * PATCH of one object or of a part of it. A patch that names no resourceVersion is applied again to whatever another
 * writer put there meanwhile; one that does gets 409.
 */
export async function patchObject(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  profile: UpdateProfile,
): Promise<ApiResponse> {
  const form = negotiateObject(registry, context, resource);
  const options = writeOptions(context, 'PatchOptions');
  const patch = readPatch(context);
  const run = patch.kind === 'apply' ? apply : change;
  const { entry, created } = await run(registry, context, resource, { patch, profile, options });
  return entryResponse(registry, context, { resource, entry, form, status: created ? 201 : 200 });
}

interface PatchRun {
  readonly patch: Patch;
  readonly profile: UpdateProfile;
  readonly options: WriteOptions;
}

function change(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  { patch, profile, options }: PatchRun,
): Promise<Mutated> {
  const { query, namespace, name } = context.info;
  if (query.has('force')) {
    throw invalidOptions('force', 'Forbidden', 'Forbidden: may not be specified for non-apply patch', 'PatchOptions');
  }
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const fields = registry.codec.typeOf(type);
  return mutate(registry, context, resource, {
    namespace,
    name,
    profile,
    options,
    change: (current) =>
      normalized(registry, context, { resource, options, object: applyPatch(patch, current, fields) }),
  });
}

function apply(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  { patch, profile, options }: PatchRun,
): Promise<Mutated> {
  const { query, namespace, name } = context.info;
  if ((query.get('fieldManager') ?? '') === '') {
    const message = 'Required value: is required for apply patch';
    throw invalidOptions('fieldManager', 'Required', message, 'PatchOptions');
  }
  const request = {
    resource,
    configuration: patch.body,
    manager: options.fieldManager,
    force: flag(query, 'force'),
    subresource: profile.subresource,
  };
  return mutate(registry, context, resource, {
    namespace,
    name,
    profile,
    options,
    trackFields: false,
    change: (live) =>
      normalized(registry, context, { resource, options, object: registry.managedFields.apply({ ...request, live }) }),
    ...(profile.subresource === ''
      ? {
          create: () => {
            const applied = registry.managedFields.apply(request);
            const object = normalized(registry, context, { resource, options, object: applied });
            return insert(registry, context, resource, { object, namespace, options, trackFields: false });
          },
        }
      : {}),
  });
}

/** What came out of a patch as a proper object of the resource's kind. */
function normalized(
  registry: RegistryContext,
  context: RequestContext,
  { resource, options, object }: { resource: ServedResource; options: WriteOptions; object: unknown },
): ApiObjectShape {
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  if (typeof object !== 'object' || object === null) throw badRequest('the patch does not leave an object');
  const result = registry.codec.normalize(object, type, options.fieldValidation);
  for (const text of result.warnings) warn(context, text);
  requireName(resource, result.object, context.info);
  return result.object;
}
