import type { ApiObjectShape } from '#api/meta/object.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { badRequest, conflict } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { createInstead } from '#apiserver/registry/create.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import type { ObjectName } from '#apiserver/registry/get.js';
import { mutate, type UpdateProfile } from '#apiserver/registry/mutate.js';
import { dropRepeatedOwners } from '#apiserver/registry/object-metadata.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { failedPrecondition } from '#apiserver/registry/request-errors.js';
import { readBody, writeOptions } from '#apiserver/registry/write-request.js';
import { keyOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** PUT of one object or of a part of it. */
export async function updateObject(operation: Operation, profile: UpdateProfile): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const options = writeOptions(registry, context, 'UpdateOptions');
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const { namespace, name } = context.info;
  const read = async (): Promise<Draft<ApiObjectShape>> => {
    const body = readBody(registry, context, type, options.fieldValidation);
    const object = body instanceof Promise ? await body : body;
    requireOwnName(resource, object, context.info);
    dropRepeatedOwners(context, object, 'received');
    return object;
  };
  let unused: Draft<ApiObjectShape> | undefined = await read();
  // Each attempt changes the object in place; a second attempt reads the body again.
  const take = async (): Promise<Draft<ApiObjectShape>> => {
    const object = unused ?? (await read());
    unused = undefined;
    return object;
  };
  const create = async (): Promise<Entry | undefined> => {
    const object = await take();
    return createInstead(operation, { object, namespace, options });
  };
  const creates = resource.strategy.allowCreateOnUpdate === true && profile.subresource === '';
  const { entry, created } = await mutate(operation, {
    namespace,
    name,
    profile,
    options,
    async change(current) {
      const object = await take();
      requireUID(resource, object, current);
      return object;
    },
    ...(creates && { create }),
  });
  return entryResponse(operation, { entry, form, status: created ? 201 : 200 });
}

/** Requires the object's name, and its namespace if given, to match the path. Throws 400. */
export function requireOwnName(resource: ServedResource, object: Draft<ApiObjectShape>, path: ObjectName): void {
  if ((object.metadata.name ?? '') === '') {
    throw badRequest(`the name of the object (${path.name} based on URL) was undeterminable: name must be provided`);
  }
  requireName(resource, object, path);
}

/** A UID in the body must be the current object's. Throws 409. Not for patches, where validation refuses a changed UID. */
export function requireUID(resource: ServedResource, object: ApiObjectShape, current: ApiObjectShape): void {
  const { uid = '' } = object.metadata;
  requireStored(resource, { uid }, current);
}

/** The preconditions that 1.24's store checks before a change; empty and absent ones always hold. Throws 409. */
export function requireStored(
  resource: ServedResource,
  preconditions: Pick<ObjectMeta, 'uid' | 'resourceVersion'>,
  { metadata }: ApiObjectShape,
): void {
  for (const [field, name] of [
    ['uid', 'UID'],
    ['resourceVersion', 'ResourceVersion'],
  ] as const) {
    const value = preconditions[field] ?? '';
    if (value === '' || value === metadata[field]) continue;
    const key = resource.storage.prefix + keyOf(resource, metadata.namespace ?? '', metadata.name ?? '');
    const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: `;
    throw conflict(resource.qualified, metadata.name ?? '', error + failedPrecondition(name, value, metadata[field]));
  }
}

/** Fills in absent names from the path, and throws 400 for names that differ from it. */
function requireName(resource: ServedResource, object: Draft<ApiObjectShape>, path: ObjectName): void {
  const { metadata } = object;
  if (!resource.declaration.namespaced) delete metadata.namespace;
  else {
    if ((metadata.namespace ?? '') === '') metadata.namespace = path.namespace;
    if (metadata.namespace !== path.namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
  }
  if ((metadata.name ?? '') === '') metadata.name = path.name;
  if (metadata.name !== path.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${path.name})`);
  }
}
