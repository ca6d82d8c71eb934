/** Index of placed pods by mounted claim, so that looking up a claim does not scan all pods. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** Names of claims that other pods can mount too; claims of ephemeral volumes belong to one pod. */
export const sharedClaimNames = ({ spec }: Pod): string[] =>
  (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

export class ClaimIndex<Place> {
  /** Claim (`namespace/name`) → UID of a pod that mounts it → the pod's place. */
  readonly #places = new Map<string, Map<string, Place>>();

  /** UIDs and places of the pods that mount the claim. */
  placesOf(namespace: string | undefined, name: string): Iterable<readonly [string, Place]> {
    return this.#places.get(keyFor(namespace, name)) ?? [];
  }

  add({ namespace, pod, uid }: PodInfo, place: Place): void {
    for (const name of sharedClaimNames(pod)) {
      const key = keyFor(namespace, name);
      const places = this.#places.get(key);
      if (places === undefined) this.#places.set(key, new Map([[uid, place]]));
      else places.set(uid, place);
    }
  }

  remove({ namespace, pod, uid }: PodInfo): void {
    for (const name of sharedClaimNames(pod)) {
      const key = keyFor(namespace, name);
      const places = this.#places.get(key);
      places?.delete(uid);
      if (places?.size === 0) this.#places.delete(key);
    }
  }
}
