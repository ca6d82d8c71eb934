/** What the scheduler believes of the cluster: nodes, their pods, and pods it has placed but not yet seen placed. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { NodeInfo } from '#scheduler/framework/node-info.js';
import { type PodInfo, podInfo } from '#scheduler/framework/pod-info.js';

/**
 * Guarantees: a pod counts on exactly one node. An assumed pod counts until it is seen bound, deleted, or forgotten.
 */
export class SchedulerCache {
  /** Every node ever named by a node object or by a pod; those without a node object are not offered. */
  readonly #infos = new Map<string, NodeInfo>();
  /** Nodes that have a node object, in a flat array that is only rebuilt when nodes come or go. */
  #nodes: NodeInfo[] = [];
  #nodesChanged = false;
  /** Pod UID → the node it counts on. */
  readonly #placed = new Map<string, string>();
  readonly #assumed = new Set<string>();

  /** The nodes to choose from. Valid until the cache changes. */
  nodes(): readonly NodeInfo[] {
    if (this.#nodesChanged) {
      this.#nodes = [...this.#infos.values()].filter((info) => info.node !== undefined);
      this.#nodesChanged = false;
    }
    return this.#nodes;
  }

  get sizes(): { readonly nodes: number; readonly pods: number; readonly assumedPods: number } {
    return { nodes: this.nodes().length, pods: this.#placed.size, assumedPods: this.#assumed.size };
  }

  setNode(node: Node): void {
    const info = this.#info(node.metadata.name ?? '');
    if (info.node === undefined) this.#nodesChanged = true;
    info.setNode(node);
  }

  removeNode(name: string): void {
    const info = this.#infos.get(name);
    if (info === undefined) return;
    info.setNode(undefined);
    this.#nodesChanged = true;
    if (info.pods.size === 0) this.#infos.delete(name);
  }

  /** Counts the pod on a node before the API knows. */
  assume(pod: PodInfo, node: string): void {
    this.#assumed.add(pod.uid);
    this.#place(pod, node);
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  /** Takes an assumption back: the binding failed. */
  forget(uid: string): void {
    if (this.#assumed.delete(uid)) this.#remove(uid);
  }

  /** A bound pod as the API shows it. */
  setPod(pod: Pod): void {
    const node = pod.spec.nodeName ?? '';
    const uid = pod.metadata.uid ?? '';
    if (node === '') return;
    this.#assumed.delete(uid);
    this.#place(podInfo(pod), node);
  }

  removePod(uid: string): void {
    this.#assumed.delete(uid);
    this.#remove(uid);
  }

  #place(pod: PodInfo, node: string): void {
    if (this.#placed.get(pod.uid) !== node) this.#remove(pod.uid);
    this.#placed.set(pod.uid, node);
    this.#info(node).addPod(pod);
  }

  #remove(uid: string): void {
    const node = this.#placed.get(uid);
    if (node === undefined) return;
    this.#placed.delete(uid);
    const info = this.#infos.get(node);
    info?.removePod(uid);
    if (info !== undefined && info.pods.size === 0 && info.node === undefined) this.#infos.delete(node);
  }

  #info(name: string): NodeInfo {
    let info = this.#infos.get(name);
    if (info === undefined) {
      info = new NodeInfo(name);
      this.#infos.set(name, info);
    }
    return info;
  }
}
