/** Compares the fast rules with simple reference rules on random, changing clusters. */
import t from 'tap';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { PluginScores } from '#scheduler/decision/plans.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { diskKinds } from '#scheduler/plugins/disk-limits.js';
import { defaultProfile, profileOf } from '#scheduler/plugins/profiles.js';
import { refusal, scores } from '#scheduler/testing/reference/rules.js';
import { Twins } from '#scheduler/testing/twins.js';

t.setTimeout(300_000);
const clusters = 10_000;
const profile = defaultProfile(dialect);

const claimInUse = 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';

/** Undefined if both agree on every node, else the difference. `met` is called with each compared rule. */
function difference(twins: Twins, pod: Pod, by: Profile, met: (what: string) => void, rules = {}): unknown {
  const { filters, scores: fast } = twins.plans.begin(podInfo(pod), by);
  const feasible: Node[] = [];
  for (const node of twins.nodes) {
    const info = twins.cluster.node(node.metadata.name ?? '');
    if (info === undefined) return { missing: node };
    const actual = filters.refusal ?? filters.check(info);
    const expected = refusal(twins, pod, node, dialect, rules);
    const [a, b] = [
      actual && [actual.plugin, actual.rejection.reasons],
      expected && [expected.plugin, expected.reasons],
    ];
    if (JSON.stringify(a) !== JSON.stringify(b)) return { node: node.metadata.name, actual: a, expected: b };
    // Nodes outside `nodeNames` must refuse the pod.
    if (filters.nodeNames?.has(node.metadata.name ?? '') === false && expected === undefined) return { leftOut: node };
    if (expected === undefined) feasible.push(node);
    else met(expected.reasons.includes(claimInUse) ? 'claim in use' : expected.plugin);
  }
  if (feasible.length === 0) return undefined;
  if (feasible.length > 1) met('scores');
  const actual: Record<string, number[]> = {};
  const each = ({ plugin, scores: actualScores }: PluginScores) => {
    actual[plugin] = [...actualScores];
  };
  const infos = feasible.flatMap(({ metadata }) => twins.cluster.node(metadata.name ?? '') ?? []);
  fast.totals(infos, twins.cluster.slots, { each });
  for (const [plugin, expected] of Object.entries(scores(twins, pod, feasible, dialect))) {
    // A skipped plugin must score all nodes alike.
    const actualScores = actual[plugin] ?? expected.map(() => expected[0] ?? 0);
    if (JSON.stringify(actualScores) !== JSON.stringify(expected)) return { plugin, actualScores, expected };
  }
  return undefined;
}

/** Random nodes never reach the limits of cloud disks; table tests cover these plugins. */
const fewDisks: readonly string[] = Object.values(diskKinds).map(({ plugin }) => plugin);

/** The first difference in clusters of `count` seeds from `first` on. */
function search(by: Profile, first: number, count: number, met: (what: string) => void = () => {}, rules = {}) {
  for (let seed = first; seed < first + count; seed++) {
    const twins = new Twins(seededRandom(seed), dialect);
    const kinds = [twins.make.pod(), twins.make.pod()];
    for (let step = 1; step <= 24; step++) {
      twins.step();
      if (step % 8 !== 0) continue;
      // Repeat pod kinds to use cached results, and add a new kind.
      for (const pod of [...kinds, twins.make.pod()]) {
        const wrong = difference(twins, pod, by, met, rules);
        if (wrong !== undefined) return { seed, step, wrong, pod, pods: twins.pods, nodes: twins.nodes };
      }
    }
  }
  return undefined;
}

t.test(`filters and scores follow the rules in ${clusters} random clusters`, { timeout: 300_000 }, (t) => {
  const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${first}`);
  /** How often each plugin refused a node and scores were compared; every rule must occur. */
  const met = new Map<string, number>();
  const actual = search(profile, first, clusters, (what) => met.set(what, (met.get(what) ?? 0) + 1));
  t.equal(actual, undefined);
  if (actual === undefined) {
    t.comment(JSON.stringify([...met]));
    for (const { plugin } of profile.filters) {
      if (!fewDisks.includes(plugin)) t.ok((met.get(plugin) ?? 0) > 50, `${plugin} refused`);
    }
    t.ok((met.get('scores') ?? 0) > 1000, 'scores were compared');
  }
  t.end();
});

t.test('filters follow the rules with the gate ReadWriteOncePod', { timeout: 300_000 }, (t) => {
  const context = { gates: new FeatureGates({ ReadWriteOncePod: true }), env: {} };
  const gated = profileOf({ schedulerName: profile.schedulerName, sets: {}, args: {} }, dialect, context);
  const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${first}`);
  let inUse = 0;
  const met = (what: string) => {
    if (what === 'claim in use') inUse++;
  };
  t.equal(search(gated, first, 500, met, { singlePods: true }), undefined);
  t.ok(inUse > 0, `${inUse} times a claim was in use`);
  t.end();
});

t.test('the comparison detects a missing plugin', { timeout: 300_000 }, (t) => {
  const names = new Set([...profile.filters, ...profile.scores].map(({ plugin }) => plugin));
  for (const name of names) {
    if (fewDisks.includes(name)) continue;
    const sets = { multiPoint: { enabled: [], disabled: [name] } };
    const lacking = profileOf({ schedulerName: profile.schedulerName, sets, args: {} }, dialect);
    t.ok(search(lacking, 1, 2000), name);
  }
  t.end();
});
