/** Tables of cases for single plugins: a cluster in a few words, a plugin's answers, one line per case. */
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
  /** Its node; absent: it waits for one. */
  readonly on?: string;
  readonly terminating?: true;
  readonly status?: Pod['status'];
  readonly spec?: Partial<PodSpec>;
}

export interface World {
  /** One named `n` when absent. */
  readonly nodes?: readonly Node[];
  readonly pods?: readonly PodFields[];
  /** Labels by namespace. */
  readonly namespaces?: Readonly<Record<string, Labels>>;
  readonly storage?: Partial<StorageObjects>;
  readonly budgets?: readonly Budget[];
  /** What services and controllers select; absent: nothing does. */
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
}: World): Cluster {
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

/** The reasons for which the plugin refuses the node, or `ok`. A reason that eviction cannot change begins with `!`. */
export function answer(plugin: Plugin, fields: PodFields, world: World = {}, name = 'n'): string {
  const cluster = clusterOf(world);
  const info = podInfo(pod(fields));
  const filter = plugin.filter?.prepare(info, cluster);
  if (filter === undefined) return ok;
  const found = cluster.node(name);
  if (found === undefined) throw new RangeError(`there is no node ${name}`);
  // A plugin that says which nodes can do must say of the others what it would have said of each.
  if (filter.nodeNames !== undefined && !filter.nodeNames.has(name) && filter.filter(found) === undefined) {
    throw new Error('the node is left out and would do');
  }
  const rejection = filter.begin?.() ?? filter.filter(found);
  filter.close?.();
  if (rejection === undefined) return ok;
  return `${rejection.unresolvable === true ? '!' : ''}${rejection.reasons.join(', ')}`;
}

/** The answers of all nodes in their order, in a row: `ok no ok`. */
export function answers(plugin: Plugin, fields: PodFields, world: World): string {
  const names = (world.nodes ?? []).map(({ metadata }) => metadata.name ?? '');
  return names.map((name) => (answer(plugin, fields, world, name) === ok ? ok : 'no')).join(' ');
}

/** The scores of all nodes, normalized, in their order. */
export function scores(plugin: Plugin, fields: PodFields, world: World): number[] {
  const cluster = clusterOf(world);
  const infos = (world.nodes ?? [node('n')]).flatMap(({ metadata }) => cluster.node(metadata.name ?? '') ?? []);
  const score = plugin.score?.prepare(podInfo(pod(fields)), cluster);
  if (score === undefined) return infos.map(() => 0);
  score.begin?.(infos);
  const given = Float64Array.from(infos, (info) => score.score(info));
  score.normalize?.(given, infos);
  score.close?.();
  return [...given];
}

/** Rows: what the case is about, what is asked, what is to be answered. */
export function table<Asked extends readonly unknown[], Want>(
  name: string,
  ask: (...asked: Asked) => Want,
  rows: readonly (readonly [what: string, ...asked: Asked, want: Want])[],
): void {
  t.test(name, (t) => {
    for (const row of rows) t.same(ask(...(row.slice(1, -1) as unknown as Asked)), row.at(-1), row[0]);
    t.end();
  });
}
