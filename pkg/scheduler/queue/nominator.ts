import type { PodInfo } from '#scheduler/cluster/pod-info.js';

const none: readonly PodInfo[] = [];

/** Pods whose preemption made room, by nominated node. */
export class Nominator {
  readonly #byNode = new Map<string, PodInfo[]>();
  /** Pod UID → node. */
  readonly #nodes = new Map<string, string>();

  podsOn(node: string): readonly PodInfo[] {
    return this.#byNode.size === 0 ? none : (this.#byNode.get(node) ?? none);
  }

  *entries(): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const [node, pods] of this.#byNode) for (const pod of pods) yield { pod, node };
  }

  /** The pod's nominated node. */
  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid);
  }

  /** Replaces the pod's earlier nomination. */
  add(pod: PodInfo, node: string): void {
    this.remove(pod.uid);
    this.#nodes.set(pod.uid, node);
    const nominated = this.#byNode.get(node);
    if (nominated === undefined) this.#byNode.set(node, [pod]);
    else nominated.push(pod);
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    const remaining = this.podsOn(node).filter((pod) => pod.uid !== uid);
    if (remaining.length === 0) this.#byNode.delete(node);
    else this.#byNode.set(node, remaining);
  }
}
