/**
 * A simple model of placed pods, for histories: it applies changes in the order of their revisions and reports what no
 * scheduler may do.
 */
import type { Node, Pod } from '#api/core/v1/types.gen.js';

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Node | Pod;
}

interface Needs {
  readonly milliCpu: number;
  readonly mebibytes: number;
  readonly hostPorts: readonly number[];
  /** App label of pods that must not share its node; empty: none. */
  readonly apart: string;
}

/** Thousandths of a CPU; histories write `m`, the API may return whole CPUs. */
export const milli = (text = '0') => (text.endsWith('m') ? Number(text.slice(0, -1)) : 1000 * Number(text));
/** Memory in MiB; histories write `Mi`, the API may return `Gi`. */
const mebi = (text = '0Mi') => Number(text.slice(0, -2)) * (text.endsWith('Gi') ? 1024 : 1);

function needsOf({ spec, metadata }: Pod): Needs {
  const [container] = spec.containers;
  const requests = container?.resources?.requests ?? {};
  return {
    milliCpu: milli(String(requests['cpu'] ?? '0')),
    mebibytes: mebi(String(requests['memory'] ?? '0Mi')),
    hostPorts: (container?.ports ?? []).flatMap(({ hostPort }) => hostPort ?? []),
    apart: spec.affinity?.podAntiAffinity === undefined ? '' : (metadata.labels?.['app'] ?? ''),
  };
}

const priorityOf = ({ spec }: Pod) => spec.priority ?? 0;
const finished = (pod: Pod) => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const nodeOf = (pod: Pod) => pod.spec.nodeName ?? '';

export class Model {
  readonly #nodes = new Map<string, Node>();
  /** By UID. */
  readonly #pods = new Map<string, Pod>();
  /** Priority of every pod that ever existed. */
  readonly #priorities = new Map<string, number>();
  readonly #boundTo = new Map<string, string>();
  readonly #lastRevision = new Map<string, number>();
  /** Descriptions of violations. */
  readonly findings: string[] = [];
  /** Number of bindings. */
  bindings = 0;
  /** Number of graceful deletions, which are always evictions by schedulers. */
  evictions = 0;

  apply({ type, object }: Change): void {
    const { uid = '', name = '', resourceVersion } = object.metadata;
    // Two watches of one history may deliver an event twice.
    const revision = Number(resourceVersion);
    if (revision <= (this.#lastRevision.get(uid) ?? 0)) return;
    this.#lastRevision.set(uid, revision);
    if (object.kind === 'Node') {
      // Keep a deleted node, since a binding to it may still be in progress.
      this.#nodes.set(name, type === 'DELETED' ? { ...object, spec: { unschedulable: true } } : (object as Node));
      return;
    }
    const pod = object as Pod;
    if (type === 'DELETED') {
      this.#pods.delete(uid);
      return;
    }
    if (pod.metadata.deletionTimestamp !== undefined && this.#pods.get(uid)?.metadata.deletionTimestamp === undefined) {
      this.evictions += 1;
      const more = [...this.#priorities.values()].some((priority) => priority > priorityOf(pod));
      if (!more) this.findings.push(`${name}: evicted, but no pod was ever more important`);
    }
    this.#priorities.set(uid, priorityOf(pod));
    this.#pods.set(uid, pod);
    const before = this.#boundTo.get(uid);
    const node = nodeOf(pod);
    if (before !== undefined && before !== node) this.findings.push(`${name}: bound to ${before}, then to ${node}`);
    if (before !== undefined || node === '') return;
    this.#boundTo.set(uid, node);
    this.bindings += 1;
    const wrong = this.#wrong(node, this.#on(node));
    if (wrong !== undefined) this.findings.push(`at revision ${resourceVersion}, ${name} on ${node}: ${wrong}`);
  }

  /** Names of pending pods that fit on a node, as it is or without less important pods. */
  waitingThoughTheyFit(): string[] {
    const open = [...this.#nodes].filter(([, { spec }]) => spec.unschedulable !== true).map(([name]) => name);
    const waiting = [...this.#pods.values()].filter((pod) => nodeOf(pod) === '' && !finished(pod));
    const stays = (pod: Pod, other: Pod) =>
      pod.spec.preemptionPolicy === 'Never' || priorityOf(other) >= priorityOf(pod);
    // Looked up once, since long histories leave thousands of pods.
    const there = new Map(open.map((node) => [node, this.#on(node)]));
    const others = (pod: Pod, node: string) => (there.get(node) ?? []).filter((other) => stays(pod, other));
    return waiting
      .filter((pod) => open.some((node) => this.#wrong(node, [...others(pod, node), pod]) === undefined))
      .map(({ metadata }) => metadata.name ?? '');
  }

  get waiting(): number {
    return [...this.#pods.values()].filter((pod) => nodeOf(pod) === '' && !finished(pod)).length;
  }

  #on(node: string): Pod[] {
    return [...this.#pods.values()].filter((pod) => nodeOf(pod) === node && !finished(pod));
  }

  /** Why these pods cannot share the node. */
  #wrong(name: string, pods: readonly Pod[]): string | undefined {
    const room = this.#nodes.get(name)?.status?.allocatable;
    if (room === undefined) return 'no such node';
    const needs = pods.map(needsOf);
    const sum = (of: (needs: Needs) => number) => needs.reduce((total, each) => total + of(each), 0);
    if (pods.length > Number(room['pods'])) return `${pods.length} pods of ${room['pods']}`;
    const cpu = sum(({ milliCpu }) => milliCpu);
    if (cpu > milli(String(room['cpu']))) return `${cpu}m of ${room['cpu']} CPU`;
    const memory = sum(({ mebibytes }) => mebibytes);
    if (memory > mebi(String(room['memory']))) return `${memory}Mi of ${room['memory']} memory`;
    const ports = needs.flatMap(({ hostPorts }) => hostPorts);
    if (new Set(ports).size < ports.length) return `host ports ${ports.join(', ')}`;
    for (const { apart } of needs) {
      const alike = apart === '' ? 0 : pods.filter(({ metadata }) => metadata.labels?.['app'] === apart).length;
      if (alike > 1) return `${alike} pods of ${apart}, which keep apart`;
    }
    return undefined;
  }
}
