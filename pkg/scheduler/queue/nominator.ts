import type { PodInfo } from '#scheduler/cluster/pod-info.js';

const none: readonly PodInfo[] = [];

/** Pods that wait for room that was made for them, by the node they are to have. */
export class Nominator {
  readonly #byNode = new Map<string, PodInfo[]>();
  /** Pod UID → node. */
  readonly #nodes = new Map<string, string>();

  on(node: string): readonly PodInfo[] {
    return this.#byNode.size === 0 ? none : (this.#byNode.get(node) ?? none);
  }

  *entries(): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const [node, pods] of this.#byNode) for (const pod of pods) yield { pod, node };
  }

  /** The node that the pod is to have. */
  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid);
  }

  /** Another nomination of the same pod ends. */
  add(pod: PodInfo, node: string): void {
    this.remove(pod.uid);
    this.#nodes.set(pod.uid, node);
    const there = this.#byNode.get(node);
    if (there === undefined) this.#byNode.set(node, [pod]);
    else there.push(pod);
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    const left = this.on(node).filter((pod) => pod.uid !== uid);
    if (left.length === 0) this.#byNode.delete(node);
    else this.#byNode.set(node, left);
  }
}
