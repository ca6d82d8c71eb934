/** What happens to an object, given what is known for sure about its owners. Pure. */
import type { OwnerReference } from '#api/meta/v1/types.gen.js';

/** What a live look at an owner showed. */
export type OwnerState =
  /** There, and not going because of its dependents. */
  | 'solid'
  /** Not there, or another object with its name. */
  | 'absent'
  /** Being deleted in the foreground: waits for its dependents. */
  | 'waiting'
  /** Cannot be looked up: a namespaced owner of a cluster-scoped object. */
  | 'unresolvable';

export type Propagation = 'Orphan' | 'Background' | 'Foreground';

export type Verdict =
  | { readonly kind: 'keep' }
  /** Some owners stay: only the references to the others go. */
  | { readonly kind: 'dropReferences'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly propagation: Propagation; readonly unblockOwners: boolean };

export interface Candidate {
  readonly owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[];
  readonly hasDependents: boolean;
  /** A dependent is itself being deleted in the foreground: the two may wait for each other. */
  readonly dependentWaits: boolean;
  readonly hasOrphanFinalizer: boolean;
  readonly hasForegroundFinalizer: boolean;
}

export function decide(candidate: Candidate): Verdict {
  const { owners } = candidate;
  const uidsOf = (state: OwnerState) =>
    owners.filter((owner) => owner.state === state).map(({ reference }) => reference.uid);
  const absent = uidsOf('absent');
  const waiting = uidsOf('waiting');
  if (owners.length === 0 || uidsOf('unresolvable').length > 0) return { kind: 'keep' };
  if (uidsOf('solid').length > 0) {
    const uids = [...absent, ...waiting];
    return uids.length === 0 ? { kind: 'keep' } : { kind: 'dropReferences', uids };
  }
  if (waiting.length > 0 && candidate.hasDependents) {
    return { kind: 'delete', propagation: 'Foreground', unblockOwners: candidate.dependentWaits };
  }
  return { kind: 'delete', propagation: ownPropagation(candidate), unblockOwners: false };
}

/** What whoever began to delete the object asked for. */
function ownPropagation({ hasOrphanFinalizer, hasForegroundFinalizer }: Candidate): Propagation {
  if (hasOrphanFinalizer) return 'Orphan';
  return hasForegroundFinalizer ? 'Foreground' : 'Background';
}
