/** Table tests for single plugins: builds a small cluster, runs a plugin, one line per case. */
import t from 'tap';
import type { Node, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { everything, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { type Budget, noObjects, type StorageObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { Plugin } from '#scheduler/framework/plugin.js';

type Labels = Readonly<Record<string, string>>;

export interface PodFields {
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: Labels;
  /** Its node; absent: the pod is pending. */
  readonly on?: string;
  readonly terminating?: true;
  readonly status?: Pod['status'];
  readonly spec?: Partial<PodSpec>;
}

export interface TestCluster {
  /** Absent: one named `n`. */
  readonly nodes?: readonly Node[];
  readonly pods?: readonly PodFields[];
  /** Labels by namespace. */
  readonly namespaces?: Readonly<Record<string, Labels>>;
  readonly storage?: Partial<StorageObjects>;
  readonly budgets?: readonly Budget[];
  /** The labels that services and controllers select; absent: none. */
  readonly selected?: Labels;
}

export function pod({
  labels = {},
  name = 'p',
  namespace = 'default',
  on,
  spec = {},
  status,
  terminating,
}: PodFields): Pod {
  const deleted = terminating === true ? { deletionTimestamp: '2022-05-03T00:00:00Z' } : {};
  return {
    metadata: { name, uid: name, namespace, labels, ...deleted },
    spec: { containers: [], ...spec, ...(on === undefined ? {} : { nodeName: on }) },
    ...(status === undefined ? {} : { status }),
  };
}

export interface NodeFields {
  readonly spec?: Node['spec'];
  readonly allocatable?: Labels;
  readonly images?: NonNullable<Node['status']>['images'];
}

export function node(name: string, labels: Labels = {}, { allocatable = {}, images = [], spec = {} }: NodeFields = {}) {
  return { metadata: { name, labels }, spec, status: { allocatable, images } } satisfies Node;
}

export function clusterOf({
  budgets = [],
  namespaces = {},
  nodes = [node('n')],
  pods = [],
  selected,
  storage = {},
}: TestCluster): Cluster {
  const cluster = new Cluster(dialect, {
    budgets: () => budgets,
    namespaceLabels: (namespace) => namespaces[namespace],
    spreadSelector: () => (selected === undefined ? everything : selectorFromLabels(selected)),
    storage: { ...noObjects.storage, ...storage },
  });
  for (const each of nodes) cluster.setNode(each);
  for (const [i, each] of pods.entries()) cluster.setPod(pod({ name: `there-${i}`, on: 'n', ...each }));
  return cluster;
}

const ok = 'ok';

/** The plugin's reasons for refusing the node, or `ok`. Unresolvable reasons begin with `!`. */
export function answer(plugin: Plugin, fields: PodFields, world: TestCluster = {}, name = 'n'): string {
  const cluster = clusterOf(world);
  const info = podInfo(pod(fields));
  const filter = plugin.filter?.prepare(info, cluster);
  if (filter === undefined) return ok;
  const nodeInfo = cluster.node(name);
  if (nodeInfo === undefined) throw new RangeError(`there is no node ${name}`);
  // A filter with `nodeNames` must also refuse every other node.
  if (filter.nodeNames !== undefined && !filter.nodeNames.has(name) && filter.filter(nodeInfo) === undefined) {
    throw new Error('the filter passes a node outside its nodeNames');
  }
  const rejection = filter.begin?.() ?? filter.filter(nodeInfo);
  filter.close?.();
  if (rejection === undefined) return ok;
  return `${rejection.unresolvable === true ? '!' : ''}${rejection.reasons.join(', ')}`;
}

/** The answers for all nodes in order, joined: `ok no ok`. */
export function answers(plugin: Plugin, fields: PodFields, world: TestCluster): string {
  const names = (world.nodes ?? []).map(({ metadata }) => metadata.name ?? '');
  return names.map((name) => (answer(plugin, fields, world, name) === ok ? ok : 'no')).join(' ');
}

/** Normalized scores of all nodes, in order. */
export function scores(plugin: Plugin, fields: PodFields, world: TestCluster): number[] {
  const cluster = clusterOf(world);
  const infos = (world.nodes ?? [node('n')]).flatMap(({ metadata }) => cluster.node(metadata.name ?? '') ?? []);
  const score = plugin.score?.prepare(podInfo(pod(fields)), cluster);
  if (score === undefined) return infos.map(() => 0);
  score.begin?.(infos);
  const raw = Float64Array.from(infos, (info) => score.score(info));
  score.normalize?.(raw, infos);
  score.close?.();
  return [...raw];
}

/** Rows: description of the case, arguments, expected result. */
export function table<Args extends readonly unknown[], Want>(
  name: string,
  ask: (...args: Args) => Want,
  rows: readonly (readonly [what: string, ...args: Args, want: Want])[],
): void {
  t.test(name, (t) => {
    for (const row of rows) t.same(ask(...(row.slice(1, -1) as unknown as Args)), row.at(-1), row[0]);
    t.end();
  });
}
