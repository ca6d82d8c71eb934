import { anyGate } from '#api/strategy/gated-fields.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import { requireNamespace } from '#apiserver/registry/create.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { admitChanges, recordManagers } from '#apiserver/registry/record-managers.js';
import { methodNotServed } from '#apiserver/registry/request-errors.js';
import { readBody, writeOptions } from '#apiserver/registry/write-request.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import { subresourceType } from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';

/** Serves a POST to a resource whose objects are not stored, such as a review. */
export async function serveVirtual(operation: Operation, virtual: VirtualResource): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const { info } = context;
  if (info.verb !== 'create') throw methodNotServed(resource.qualified, info.verb);
  const form = registry.responder.negotiate(context);
  const options = writeOptions(registry, context, 'CreateOptions');
  const type = subresourceType(registry, resource, virtual.subresource);
  const object = await readBody(registry, context, type, options.fieldValidation);
  object.metadata ??= {};
  requireNamespace(resource, object, info.namespace);
  const { dryRun } = options;
  const { namespace, name } = info;
  const call = { operation: 'CREATE', subresource: virtual.subresource, namespace, name, dryRun, object } as const;
  const { subresource } = virtual;
  const fields = registry.codec.typeOf(type);
  fillDefaults(fields, object, anyGate(strategyContext(registry, context)));
  const resourceOfType = { ...resource, apiVersion: type.apiVersion, type: fields };
  const recorded = { object, manager: options.fieldManager, subresource };
  await recordManagers({ ...operation, resource: resourceOfType }, recorded, pauseOf(operation));
  await admitChanges(operation, call);
  await runAdmission('validate', operation, call);
  const answer = await virtual.handle({ object, namespace, name, dryRun, context });
  const { kind, apiVersion } = type;
  // Normalizing adds fields that the handler has not set, as it does for every other kind.
  const { object: normalized } = registry.codec.normalize({ kind, apiVersion, ...answer }, type, 'Ignore');
  return registry.responder.object(context, normalized, 201, form);
}
