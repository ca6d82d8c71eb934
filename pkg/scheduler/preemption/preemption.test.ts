import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { best, choices } from '#scheduler/testing/reference/preemption.js';
import { refusal } from '#scheduler/testing/reference/rules.js';
import { Twins } from '#scheduler/testing/twins.js';

const clusters = 10_000;
const profile = defaultProfile(dialect);
const args = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 };
const important = (pod: Pod, priority: number): Pod => ({ ...pod, spec: { ...pod.spec, priority } });

interface Met {
  candidates: number;
  protected: number;
  none: number;
}

/** Undefined if both agree or the pod fits, else the difference. */
function difference(twins: Twins, preemption: Preemption, pod: Pod, met: Met, budgets: Twins['budgets']): unknown {
  if (twins.nodes.some((node) => refusal(twins, pod, node, dialect) === undefined)) return undefined;
  const info = podInfo(pod);
  const generations = twins.cluster.nodes().map(({ generation }) => generation);
  const choice = preemption.find(info, twins.plans.begin(info, profile).filters, args);
  const show = (names: readonly (string | undefined)[]) => [...names].sort().join();
  const expected = best(choices(twins, pod, budgets, dialect)).map(
    ({ node, victims }) => `${node}: ${show(victims.map(({ metadata }) => metadata.name))}`,
  );
  if (!twins.cluster.nodes().every(({ generation }, i) => generation === generations[i])) return 'not undone';
  if ('message' in choice) {
    met.none++;
    return expected.length === 0 ? undefined : { choice, expected };
  }
  met.candidates++;
  if (choice.victims.violations > 0) met.protected++;
  const chosen = `${choice.node.name}: ${show(choice.victims.pods.map((victim) => victim.pod.metadata.name))}`;
  return expected.includes(chosen) ? undefined : { chosen, expected };
}

/** The first difference in clusters of `count` seeds from `first`. `withBudgets`: whether the reference uses budgets. */
function search(first: number, count: number, met: Met, withBudgets = true) {
  for (let seed = first; seed < first + count; seed++) {
    const random = seededRandom(seed);
    const twins = new Twins(random, dialect);
    for (let step = 0; step < 20; step++) twins.step();
    twins.budgets = ['one', 'two'].map((namespace) => ({
      namespace,
      labels: { app: twins.make.pick('web', 'db') },
      allowed: twins.make.pick(0, 1, 2),
    }));
    const pod = important(twins.make.pod(), twins.make.pick(50, 1000));
    const preemption = new Preemption({ cluster: twins.cluster, nominator: new Nominator(), random });
    const compare = () => difference(twins, preemption, pod, met, withBudgets ? twins.budgets : []);
    // Compare again after a change, to use cached results.
    let wrong = compare();
    if (wrong === undefined) {
      twins.step();
      wrong = compare();
    }
    if (wrong !== undefined) return { seed, wrong, pod, pods: twins.pods, nodes: twins.nodes };
  }
  return undefined;
}

const nothing = (): Met => ({ candidates: 0, protected: 0, none: 0 });

t.test(`victims and nodes follow the rules in ${clusters} random clusters`, { timeout: 300_000 }, (t) => {
  const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${first}`);
  const met = nothing();
  t.equal(search(first, clusters, met), undefined);
  t.comment(JSON.stringify(met));
  t.ok(met.candidates > 500 && met.protected > 50 && met.none > 500, 'every case occurred');
  t.end();
});

t.test('the comparison detects missing budgets', { timeout: 300_000 }, (t) => {
  t.ok(search(1, 2000, nothing(), false));
  t.end();
});
