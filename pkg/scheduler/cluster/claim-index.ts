/** Which placed pods mount which claims, so that nobody has to look at all pods for those of one claim. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** Names of claims that are no pod's own, as only such can be another's too. */
export const sharedClaimNames = ({ spec }: Pod): string[] =>
  (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

export class ClaimIndex<Place> {
  /** Claim (`namespace/name`) → UID of a pod that mounts it → where that is placed. */
  readonly #places = new Map<string, Map<string, Place>>();

  /** By the claim's namespace and name: UIDs and places. */
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
