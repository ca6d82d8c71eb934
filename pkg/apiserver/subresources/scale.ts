/** `…/scale`: the number of replicas, in one form for all kinds. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { readApplied } from '#apimachinery/apply/apply.js';
import { allSteps, inSteps, type Pause } from '#apimachinery/async/steps.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import {
  badRequest,
  conflict,
  internalError,
  invalid,
  notFound,
  optimisticLockMessage,
  statusOf,
} from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { flag } from '#apiserver/http/request-info.js';
import { readEntry } from '#apiserver/registry/get.js';
import { getVersion } from '#apiserver/registry/list-options.js';
import { mutate } from '#apiserver/registry/mutate.js';
import { objectVersion } from '#apiserver/registry/object-metadata.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { patchedObject, patchOptions } from '#apiserver/registry/patch.js';
import {
  applyPatch,
  patchFindings,
  patchKinds,
  readPatch,
  reportRepeatedKeys,
} from '#apiserver/registry/patch-body.js';
import { methodNotServed } from '#apiserver/registry/request-errors.js';
import { requireOwnName, requireUID } from '#apiserver/registry/update.js';
import { mainProfile } from '#apiserver/registry/update-profiles.js';
import { readBody, type WriteOptions, writeOptions } from '#apiserver/registry/write-request.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import { desiredReplicas, type Scale, scaleOf, specReplicas, withValue } from '#apiserver/resources/scale-of.js';
import { converted, objectOf, type ServedResource, subresourceType } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

export async function serveScale(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const { info } = context;
  const type = subresourceType(registry, resource, 'scale');
  const form = registry.responder.negotiate(context);
  if (info.verb === 'get') {
    const entry = await readScaled(operation);
    await converted(resource, [entry], context);
    const object = objectOf(resource, entry);
    if (desiredReplicas(resource, object) === undefined) {
      throw internalError(new Error(`the spec replicas field ${specField(resource)} does not exist`));
    }
    return registry.responder.object(context, scaleOf(resource, object, type), 200, form);
  }
  const change = await readScaleChange(operation, type);
  const { namespace, name } = info;
  const { entry } = await mutate(operation, {
    namespace,
    name,
    options: change.options,
    profile: { ...mainProfile(resource), subresource: 'scale' },
    ...(change.trackFields === undefined ? {} : { trackFields: change.trackFields }),
    change: (current, _start, pause) => change.apply(current, pause),
  });
  await converted(resource, [entry], context);
  return registry.responder.object(context, scaleOf(resource, objectOf(resource, entry), type), 200, form);
}

/** Resources for which 1.24's 404 names the scale, and the group in that message. */
const scaleGroups: Readonly<Record<string, string>> = {
  'deployments.apps': 'apps',
  'replicasets.apps': 'apps',
  'replicationcontrollers.': 'autoscaling',
};

/** The stored object; throws 404 in 1.24's words for the kind. */
async function readScaled({ registry, context, resource }: Operation): Promise<Entry> {
  const { info, signal } = context;
  try {
    return await readEntry(
      resource,
      info,
      getVersion(info.query, () => registry.settings.isUncached(resource)),
      signal,
    );
  } catch (error) {
    const { declaration, group: own } = resource;
    const group = scaleGroups[`${declaration.resource}.${own}`];
    if (statusOf(error)?.code !== 404 || resource.edition !== undefined || group === undefined) throw error;
    throw notFound({ group, resource: `${declaration.resource}/scale` }, info.name);
  }
}

interface ScaleChange {
  readonly options: WriteOptions;
  /** False if managedFields are set already. */
  readonly trackFields?: false;
  /** Returns the scaled object. */
  readonly apply: (current: ApiObjectShape, pause: Pause) => Draft<ApiObjectShape> | Promise<Draft<ApiObjectShape>>;
}

async function readScaleChange(operation: Operation, type: TypeRef): Promise<ScaleChange> {
  const { registry, context, resource } = operation;
  if (context.info.verb === 'update') {
    const options = writeOptions(registry, context, 'UpdateOptions');
    const scale = (await readBody(registry, context, type, options.fieldValidation)) as Draft<Scale>;
    requireOwnName(resource, scale, context.info);
    return {
      options,
      apply(current) {
        requireUID(resource, scale, current);
        return scaled(resource, current, scale);
      },
    };
  }
  if (context.info.verb !== 'patch') throw methodNotServed(resource.qualified, context.info.verb);
  const options = patchOptions(operation);
  const patch = await readPatch(context, registry.turns, patchKinds(resource, registry));
  const findings = patchFindings(patch, options.fieldValidation);
  const fields = registry.codec.typeOf(type);
  if (patch.kind === 'apply') {
    const { fieldManager: manager } = options;
    const force = flag(context.info.query, 'force');
    const { apiVersion } = type;
    // Read the number as the client wrote it: zero counts as a number, too.
    const applied = allSteps(readApplied({ type: fields, apiVersion, applied: patch.body })) as JsonObject & Scale;
    reportRepeatedKeys(context, patch, options.fieldValidation);
    const requested = patchedObject(operation, type, { options, patch, object: copyJson(applied) }) as Draft<Scale>;
    requested.metadata ??= {};
    const application = {
      context,
      resource,
      configuration: configurationOf(resource, applied, context.info.name),
      manager,
      force,
      subresource: 'scale',
      // Conflicts name the compared version: in 1.24 the Scale's, which custom kinds lack.
      ...(resource.edition === undefined && { conflictVersion: apiVersion }),
    };
    return {
      options,
      trackFields: false,
      async apply(live, pause) {
        const merged = await registry.managedFields.applyInSteps({ ...application, live }, pause);
        await pause();
        // A configuration without a name keeps that of the scale that it is merged with.
        requireOwnName(resource, { ...requested, metadata: withName(requested, context.info.name) }, context.info);
        return scaled(resource, merged as ApiObjectShape, requested, live);
      },
    };
  }
  return {
    options,
    async apply(current, pause) {
      const object = await inSteps(applyPatch(patch, scaleOf(resource, current, type, unset), fields), pause);
      await pause();
      const scale: Scale = patchedObject(operation, type, { options, patch, object, findings });
      if (scale.spec?.replicas === unset) {
        throw badRequest(`the spec replicas field ${specField(resource)} cannot be empty`);
      }
      return scaled(resource, current, scale);
    },
  };
}

/** A patch of a custom object without a number sees this value, as in 1.24. */
const unset = -(2 ** 31);

/** Path of the number: `".spec.replicas"`. */
function specField({ strategy }: ServedResource): string {
  return `".${specReplicas(strategy).join('.')}"`;
}

function withName({ metadata }: Draft<Scale>, name: string): Draft<Scale>['metadata'] {
  return (metadata.name ?? '') === '' ? { ...metadata, name } : metadata;
}

/** Translates an applied Scale to a configuration of the scaled object. */
function configurationOf(resource: ServedResource, scale: Partial<Scale>, name: string): object {
  const { apiVersion, declaration, strategy } = resource;
  const { namespace } = scale.metadata ?? {};
  const replicas = scale.spec?.replicas;
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  const configuration: JsonObject = { apiVersion, kind: declaration.kind, metadata };
  return replicas === undefined ? configuration : withValue(configuration, specReplicas(strategy), replicas);
}

/** `current` with the replicas of `scale`, whose version, if set, must be `live`'s. */
function scaled(
  resource: ServedResource,
  current: ApiObjectShape,
  scale: Scale,
  live = current,
): Draft<ApiObjectShape> {
  const { metadata, spec } = scale;
  const name = current.metadata.name ?? '';
  const version = objectVersion(metadata.resourceVersion);
  if (version !== 0n && version !== objectVersion(live.metadata.resourceVersion)) {
    throw conflict(resource.qualified, name, optimisticLockMessage);
  }
  const replicas = spec?.replicas ?? 0;
  // Custom kinds validate it by their schema.
  if (replicas < 0 && resource.edition === undefined) {
    const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
      { field: 'spec.replicas', reason: 'FieldValueInvalid', message },
    ]);
  }
  return withValue(copyJson(current), specReplicas(resource.strategy), replicas) as unknown as Draft<ApiObjectShape>;
}
