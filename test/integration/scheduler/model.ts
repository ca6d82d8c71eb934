/**
 * A slow, obvious account of who runs where, for histories: it sees what the API shows, in the order of its revisions,
 * and says what no scheduler may do.
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
  /** Of the pods that it must not meet on a node; empty: it meets everybody. */
  readonly apart: string;
}

/** Of CPU, as histories write it: in thousandths; the API may answer in whole ones. */
export const milli = (text = '0') => (text.endsWith('m') ? Number(text.slice(0, -1)) : 1000 * Number(text));
/** Of memory, as histories write it: in `Mi`; the API may answer in `Gi`. */
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
  /** By uid. */
  readonly #pods = new Map<string, Pod>();
  /** The priority of every pod there ever was. */
  readonly #known = new Map<string, number>();
  readonly #boundTo = new Map<string, string>();
  readonly #lastRevision = new Map<string, number>();
  /** What was wrong, in words. */
  readonly findings: string[] = [];
  /** Bindings seen. */
  bindings = 0;
  /** Pods seen that schedulers ended to make room: nobody else ends pods gracefully. */
  evictions = 0;

  apply({ type, object }: Change): void {
    const { uid = '', name = '', resourceVersion } = object.metadata;
    // Of two watches of one history, each event counts once.
    const revision = Number(resourceVersion);
    if (revision <= (this.#lastRevision.get(uid) ?? 0)) return;
    this.#lastRevision.set(uid, revision);
    if (object.kind === 'Node') {
      // A binding may be on its way to a node that is gone: what it had is remembered.
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
      const more = [...this.#known.values()].some((priority) => priority > priorityOf(pod));
      if (!more) this.findings.push(`${name}: evicted, and nobody was ever more important`);
    }
    this.#known.set(uid, priorityOf(pod));
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

  /** Names of pods that wait though a node could take them, as it is or without less important pods. */
  waitingThoughTheyFit(): string[] {
    const open = [...this.#nodes].filter(([, { spec }]) => spec.unschedulable !== true).map(([name]) => name);
    const waiting = [...this.#pods.values()].filter((pod) => nodeOf(pod) === '' && !finished(pod));
    const stays = (pod: Pod, other: Pod) =>
      pod.spec.preemptionPolicy === 'Never' || priorityOf(other) >= priorityOf(pod);
    // Looked up once: long histories leave thousands of pods.
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

  /** Why these pods cannot be on that node together. */
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
