/** What is wrong in a cluster, worst first, from the rows of its tables. Pure. */
import { durationMs } from '#dashboard/model/age.js';
import { troubleOf } from '#dashboard/model/status.js';
import { type CellReader, type Column, cellReader, type Row } from '#dashboard/model/table.js';
import type { Trouble } from '#dashboard/model/trouble.js';

/** A kind that the overview counts. */
export interface CountedKind {
  readonly kind: string;
  readonly resource: string;
  /** Below the API's root: `api/v1`, `apis/apps/v1`. */
  readonly base: string;
  readonly isNamespaced: boolean;
}

export const countedKinds: readonly CountedKind[] = [
  { kind: 'Node', resource: 'nodes', base: 'api/v1', isNamespaced: false },
  { kind: 'Deployment', resource: 'deployments', base: 'apis/apps/v1', isNamespaced: true },
  { kind: 'StatefulSet', resource: 'statefulsets', base: 'apis/apps/v1', isNamespaced: true },
  { kind: 'DaemonSet', resource: 'daemonsets', base: 'apis/apps/v1', isNamespaced: true },
  { kind: 'Pod', resource: 'pods', base: 'api/v1', isNamespaced: true },
  { kind: 'PersistentVolumeClaim', resource: 'persistentvolumeclaims', base: 'api/v1', isNamespaced: true },
];

export interface WrongObject {
  readonly kind: string;
  readonly resource: string;
  readonly base: string;
  readonly namespace: string;
  readonly name: string;
  /** In the table's words. */
  readonly text: string;
  readonly createdMs: number;
  /** More pods of the same owner with the same trouble. */
  readonly more: number;
  /** Of a pod: its controller's name. */
  readonly owner: string | undefined;
  /** Of a workload: its pods in trouble. */
  readonly pods: readonly WrongObject[];
}

export interface KindCount {
  readonly kind: string;
  readonly resource: string;
  readonly base: string;
  readonly total: number;
  readonly wrong: number;
  readonly isLoading: boolean;
  readonly trouble: Trouble | undefined;
  /** Only of namespaces that the user may read. */
  readonly isPartial: boolean;
}

export interface WarningRow {
  readonly namespace: string;
  readonly object: string;
  readonly reason: string;
  readonly message: string;
  readonly seenMs: number;
}

export interface Overview {
  readonly counts: readonly KindCount[];
  readonly wrong: readonly WrongObject[];
  /** Wrong objects beyond those listed. */
  readonly hidden: number;
  readonly warnings: readonly WarningRow[];
}

/** Wrong objects that are listed. */
const maxWrong = 60;

/** The troubled rows of one kind, kept up to date row by row. */
export class Troubles {
  readonly #kind: string;
  readonly #texts = new Map<string, { readonly row: Row; readonly text: string }>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  get size(): number {
    return this.#texts.size;
  }

  clear(): void {
    this.#texts.clear();
  }

  set(read: CellReader, row: Row, nowMs: number): void {
    const text = troubleOf(this.#kind, read, row, nowMs);
    if (text === undefined) this.#texts.delete(row.key);
    else this.#texts.set(row.key, { row, text });
  }

  delete(key: string): void {
    this.#texts.delete(key);
  }

  /** One for all pods of an owner with the same trouble. */
  grouped({ kind, resource, base }: CountedKind): WrongObject[] {
    const groups = new Map<string, WrongObject>();
    for (const { row, text } of this.#texts.values()) {
      const owner = kind === 'Pod' ? row.owners?.find(({ controller }) => controller) : undefined;
      const key = owner === undefined ? row.key : `${owner.uid} ${text}`;
      const { namespace, name, createdMs } = row;
      const first = groups.get(key) ?? {
        kind,
        resource,
        base,
        text,
        namespace,
        name,
        createdMs,
        more: -1,
        owner: owner?.name,
        pods: [],
      };
      groups.set(key, { ...first, more: first.more + 1 });
    }
    return [...groups.values()];
  }
}

export interface Counted {
  readonly of: CountedKind;
  readonly troubles: Troubles;
  readonly total: number;
  readonly isLoading: boolean;
  readonly trouble: Trouble | undefined;
  readonly isPartial: boolean;
}

export function overviewOf(all: readonly Counted[], warnings: readonly WarningRow[]): Overview {
  const wrong = withPods(all.flatMap(({ of, troubles }) => troubles.grouped(of)));
  const counts = all.map(({ of: { kind, resource, base }, troubles, ...others }) => ({
    ...{ kind, resource, base },
    ...others,
    wrong: troubles.size,
  }));
  return { counts, wrong: wrong.slice(0, maxWrong), hidden: Math.max(0, wrong.length - maxWrong), warnings };
}

/** Pods of a workload that is listed itself are listed with it. A Deployment's name is that of its ReplicaSet without the hash. */
function withPods(wrong: readonly WrongObject[]): WrongObject[] {
  const workloads = new Map<string, WrongObject & { readonly pods: WrongObject[] }>();
  const keyOf = (kind: string, namespace: string, name: string) => `${kind} ${namespace}/${name}`;
  for (const object of wrong)
    if (object.kind !== 'Pod')
      workloads.set(keyOf(object.kind, object.namespace, object.name), { ...object, pods: [] });
  const alone = wrong.filter((object) => {
    if (object.kind !== 'Pod' || object.owner === undefined) return object.kind === 'Pod';
    const { owner, namespace } = object;
    const workload =
      workloads.get(keyOf('Deployment', namespace, owner.replace(/-[^-]*$/, ''))) ??
      workloads.get(keyOf('StatefulSet', namespace, owner)) ??
      workloads.get(keyOf('DaemonSet', namespace, owner));
    workload?.pods.push(object);
    return workload === undefined;
  });
  return [...workloads.values(), ...alone];
}

/** Events of type Warning that are listed. */
const maxWarnings = 40;

/** The newest first. */
export function warningsOf(columns: readonly Column[], rows: Iterable<Row>): WarningRow[] {
  const read = cellReader(columns);
  const warnings: WarningRow[] = [];
  for (const row of rows) {
    warnings.push({
      namespace: row.namespace,
      object: read(row, 'Object'),
      reason: read(row, 'Reason'),
      message: read(row, 'Message'),
      seenMs: row.atMs - (durationMs(read(row, 'Last Seen')) ?? 0),
    });
  }
  return warnings.sort((a, b) => b.seenMs - a.seenMs).slice(0, maxWarnings);
}
