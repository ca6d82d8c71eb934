/** Binds pods to nodes. */
import type { Binding, Pod, PodCondition } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict, type FieldFailure, type StatusError } from '#apimachinery/errors/status.js';
import { notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const targetPath = FieldPath.of('target');

/** The target must be a node, by name. */
export function validateBinding(binding: Binding): readonly FieldFailure[] {
  const { kind = '', name = '' } = binding.target ?? {};
  const failures: FieldFailure[] = [];
  if (kind !== '' && kind !== 'Node') {
    failures.push(notSupported(targetPath.child('kind'), kind, ['Node', '<empty>']));
  }
  if (name === '') failures.push(required(targetPath.child('name')));
  return failures;
}

/** The pod, bound at `now` (ms); shares parts with `current`. Throws 409 if it has a node or is being deleted. */
export function boundPod(current: Draft<Pod>, binding: Binding, now: number): Draft<Pod> {
  const refusal = refusedBecause(current);
  if (refusal !== undefined) throw notBound(current, refusal);
  const { annotations } = binding.metadata ?? {};
  const metadata = { ...current.metadata };
  if (annotations !== undefined) metadata.annotations = { ...metadata.annotations, ...annotations };
  const scheduled: PodCondition = { type: 'PodScheduled', status: 'True', lastTransitionTime: formatTime(now) };
  const others = (current.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  return {
    ...current,
    metadata,
    spec: { ...current.spec, nodeName: binding.target.name ?? '' },
    status: { ...current.status, conditions: [...others, scheduled] },
  };
}

function refusedBecause({ metadata, spec }: Pod): string | undefined {
  if (metadata.deletionTimestamp !== undefined) {
    return `pod ${metadata.name ?? ''} is being deleted, cannot be assigned to a host`;
  }
  const assigned = spec.nodeName ?? '';
  return assigned === '' ? undefined : `pod ${metadata.name ?? ''} is already assigned to node "${assigned}"`;
}

function notBound({ metadata }: Pod, why: string): StatusError {
  return conflict({ group: '', resource: 'pods/binding' }, metadata.name ?? '', why);
}
