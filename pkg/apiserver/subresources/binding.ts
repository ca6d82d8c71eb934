/** `pods/…/binding`: the scheduler's decision. */

import { boundPod, validateBinding } from '#api/core/v1/pod/binding.js';
import type { Binding, Pod } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { badRequest, type FieldFailure, unclassified } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import { requireNamespace } from '#apiserver/registry/create.js';
import { annotateSpan } from '#apiserver/registry/entry-response.js';
import { mutate } from '#apiserver/registry/mutate.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { requireStored } from '#apiserver/registry/update.js';
import { readBody, writeOptions } from '#apiserver/registry/write-request.js';
import { subresourceType } from '#apiserver/resources/served-resource.js';

/** Sets the pod's node, once. Throws 409 if it has one or is being deleted. */
export async function bindPod(addressed: Operation): Promise<ApiResponse> {
  const { registry, context } = addressed;
  const form = registry.responder.negotiate(context);
  const options = writeOptions(registry, context, 'CreateOptions');
  const resource = registry.resources.find('', 'v1', 'pods') ?? addressed.resource;
  const operation = { registry, context, resource };
  const type = subresourceType(registry, resource, 'binding');
  const object = await readBody(registry, context, type, options.fieldValidation);
  const { namespace } = context.info;
  // The collection `bindings` has no pod in its path.
  const name = context.info.name === '' ? (object.metadata.name ?? '') : context.info.name;
  requireNamespace(resource, object, namespace);
  if ((object.metadata.name ?? '') !== name) throw badRequest('name in URL does not match name in Binding object');
  const binding = object as unknown as Binding;
  const failures = validateBinding(binding);
  // 1.24 reports an error that is not a Status.
  if (failures.length > 0) throw unclassified(aggregated(failures));
  const call = {
    operation: 'CREATE',
    subresource: 'binding',
    namespace,
    name,
    dryRun: options.dryRun,
    object,
  } as const;
  await runAdmission('admit', operation, call);
  await runAdmission('validate', operation, call);
  if (name === '') throw badRequest('Name parameter required.');
  const { entry } = await mutate(operation, {
    namespace,
    name,
    options,
    // The system binds the pod, so no manager owns the node's name.
    trackFields: false,
    profile: { subresource: 'binding', prepare: () => undefined, validate: () => [] },
    change(current) {
      requireStored(resource, binding.metadata ?? {}, current);
      return boundPod(copyJson(current) as Draft<Pod>, binding, registry.clock.now());
    },
  });
  annotateSpan(operation, entry);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return registry.responder.object(context, status, 201, form);
}

/** Joins failures, each text once. */
function aggregated(failures: readonly FieldFailure[]): string {
  const texts = [...new Set(failures.map(({ field, message }) => `${field}: ${message}`))];
  return texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`;
}
