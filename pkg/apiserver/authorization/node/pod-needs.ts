/** What each pod that is bound to a node makes it need. The pods themselves are not kept: there are many, and they are big. */

import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import { type PodReferences, podReferences } from '#apiserver/authorization/node/pod-references.js';
import type { Follower } from '#apiserver/objects/object-reader.js';

export interface PodNeeds {
  readonly node: string;
  readonly namespace: string;
  readonly references: PodReferences;
}

interface Known extends PodNeeds {
  readonly uid: string | undefined;
  readonly ephemeralContainers: number;
}

const nodeNameMember = '"nodeName":"';

export class PodFollower implements Follower<Pod> {
  readonly #dialect: Dialect;
  readonly #count: (needs: PodNeeds, by: 1 | -1) => void;
  readonly #known = new Map<string, Known>();

  /** `count` is told of needs that begin (1) and end (-1). */
  constructor(dialect: Dialect, count: (needs: PodNeeds, by: 1 | -1) => void) {
    this.#dialect = dialect;
    this.#count = count;
  }

  /** A pod that is bound names its node; some that are not have such a label or annotation. */
  concerns(json: Buffer): boolean {
    return json.includes(nodeNameMember);
  }

  replaced(pods: readonly Pod[]): void {
    for (const pod of pods) this.changed(pod);
    this.only(new Set(pods.map(keyOf)));
  }

  only(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#drop(key);
  }

  changed(pod: Pod): void {
    const key = keyOf(pod);
    const known = this.#known.get(key);
    if (known !== undefined && unchanged(pod, known)) return;
    this.#drop(key);
    const { metadata, spec } = pod;
    const node = spec.nodeName ?? '';
    // A mirror pod is written by the node itself, which must not give itself access by naming objects.
    const mirror = metadata.annotations?.[this.#dialect.annotations.configMirror] !== undefined;
    if (node === '' || mirror) return;
    const needs: Known = {
      node,
      namespace: metadata.namespace ?? '',
      references: podReferences(pod),
      uid: metadata.uid,
      ephemeralContainers: spec.ephemeralContainers?.length ?? 0,
    };
    this.#known.set(key, needs);
    this.#count(needs, 1);
  }

  removed(pod: Pod): void {
    this.#drop(keyOf(pod));
  }

  #drop(key: string): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#count(known, -1);
  }
}

/** Most updates of pods are of their status: the references are the same. */
function unchanged({ metadata, spec }: Pod, known: Known): boolean {
  return (
    metadata.uid === known.uid &&
    spec.nodeName === known.node &&
    (spec.ephemeralContainers?.length ?? 0) === known.ephemeralContainers
  );
}
