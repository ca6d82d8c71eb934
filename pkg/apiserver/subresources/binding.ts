/** `pods/…/binding`: the scheduler's decision. */

import type { Binding, Pod, PodCondition } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/object.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/copy.js';
import { badRequest, conflict, invalid } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { mutatingAdmission, validatingAdmission } from '#apiserver/registry/admit.js';
import { readBody } from '#apiserver/registry/body.js';
import { requireNamespace } from '#apiserver/registry/create.js';
import { mutate } from '#apiserver/registry/mutate.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { subresourceType } from '#apiserver/registry/subresource-type.js';
import { writeOptions } from '#apiserver/registry/write-options.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Sets the pod's node once and for all. Throws 409 when it has one or is being deleted. */
export async function bindPod(
  registry: RegistryContext,
  context: RequestContext,
  addressed: ServedResource,
): Promise<ApiResponse> {
  const options = writeOptions(registry.dialect, context, 'CreateOptions');
  const resource = registry.resources.find('', 'v1', 'pods') ?? addressed;
  const type = subresourceType(registry, resource, 'binding');
  const object = readBody(registry, context, type, options.fieldValidation);
  const { namespace } = context.info;
  // The collection `bindings` names no pod in its path.
  const name = context.info.name === '' ? (object.metadata.name ?? '') : context.info.name;
  requireNamespace(resource, object, namespace);
  if (object.metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const binding = object as unknown as Binding;
  const node = targetNode(binding);
  const call = {
    operation: 'CREATE',
    subresource: 'binding',
    namespace,
    name,
    dryRun: options.dryRun,
    object,
  } as const;
  await mutatingAdmission(registry, context, resource, call);
  await validatingAdmission(registry, context, resource, call);
  await mutate(registry, context, resource, {
    namespace,
    name,
    options,
    // Binding is the system's own doing: it makes nobody the owner of the node's name.
    trackFields: false,
    profile: { subresource: 'binding', prepare: () => undefined, validate: () => [] },
    change: (current) => bound(resource, registry, current, binding, node) as unknown as ApiObjectShape,
  });
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return registry.responder.object(context, status, 201);
}

/** Decoding does not ask for required fields, so the target may be missing. */
function targetNode({ metadata, target = {} }: Partial<Binding>): string {
  const failures = [];
  if ((target.kind ?? '') !== '' && target.kind !== 'Node') {
    const message = `Unsupported value: ${JSON.stringify(target.kind)}: supported values: "Node", "<empty>"`;
    failures.push({ field: 'target.kind', reason: 'FieldValueNotSupported', message });
  }
  if ((target.name ?? '') === '') {
    failures.push({ field: 'target.name', reason: 'FieldValueRequired', message: 'Required value' });
  }
  if (failures.length > 0) throw invalid({ group: '', kind: 'Binding' }, metadata?.name ?? '', failures);
  return target.name ?? '';
}

function bound(
  resource: ServedResource,
  registry: RegistryContext,
  current: ApiObjectShape,
  binding: Binding,
  node: string,
): Pod {
  const pod = copyJson(current) as unknown as Pod;
  const name = pod.metadata?.name ?? '';
  const refuse = (why: string) => conflict({ ...resource.qualified, resource: 'pods/binding' }, name, why);
  const wantedUID = binding.metadata?.uid ?? '';
  if (wantedUID !== '' && wantedUID !== pod.metadata?.uid) {
    throw refuse(`Precondition failed: UID in precondition: ${wantedUID}, UID in object meta: ${pod.metadata?.uid}`);
  }
  const wantedVersion = binding.metadata?.resourceVersion ?? '';
  const version = pod.metadata?.resourceVersion;
  if (wantedVersion !== '' && wantedVersion !== version) {
    throw refuse(
      `Precondition failed: ResourceVersion in precondition: ${wantedVersion}, ResourceVersion in object meta: ${version}`,
    );
  }
  if (pod.metadata?.deletionTimestamp !== undefined) {
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const assigned = pod.spec?.nodeName ?? '';
  if (assigned !== '') throw refuse(`pod ${name} is already assigned to node "${assigned}"`);
  pod.spec = { ...(pod.spec as NonNullable<Pod['spec']>), nodeName: node };
  const annotations = binding.metadata?.annotations;
  if (annotations !== undefined && pod.metadata !== undefined) {
    pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
  }
  const lastTransitionTime = formatTime(registry.clock.now());
  const scheduled: PodCondition = { type: 'PodScheduled', status: 'True', lastTransitionTime };
  const others = (pod.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  pod.status = { ...pod.status, conditions: [...others, scheduled] };
  return pod;
}
