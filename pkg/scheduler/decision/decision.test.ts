/** The fast rules against slow and obvious ones, on random clusters that change. */
import t from 'tap';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { PluginScores } from '#scheduler/decision/pod-scores.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { refusal, scores } from '#scheduler/testing/reference/rules.js';
import { Twins } from '#scheduler/testing/twins.js';

const clusters = 10_000;
/** The random pods name no nodes and have no claims. */
const unmet = ['NodeName', 'VolumeRestrictions', 'NodeVolumeLimits', 'VolumeBinding', 'VolumeZone'];
const profile = defaultProfile(dialect);

/** Undefined when both say the same of every node; else what they say. `met` hears what was compared. */
function difference(twins: Twins, pod: Pod, met: (what: string) => void): unknown {
  const { filters, scores: fast } = twins.plans.of(podInfo(pod), profile);
  const feasible: Node[] = [];
  for (const node of twins.nodes) {
    const info = twins.cluster.node(node.metadata.name ?? '');
    if (info === undefined) return { missing: node };
    const found = filters.check(info);
    const wanted = refusal(twins, pod, node, dialect);
    const [a, b] = [found && [found.plugin, found.rejection.reasons], wanted && [wanted.plugin, wanted.reasons]];
    if (JSON.stringify(a) !== JSON.stringify(b)) return { node: node.metadata.name, found: a, wanted: b };
    if (wanted === undefined) feasible.push(node);
    else met(wanted.plugin);
  }
  if (feasible.length === 0) return undefined;
  if (feasible.length > 1) met('scores');
  const found: Record<string, number[]> = {};
  const each = ({ plugin, scores: given }: PluginScores) => {
    found[plugin] = [...given];
  };
  const infos = feasible.flatMap(({ metadata }) => twins.cluster.node(metadata.name ?? '') ?? []);
  fast.totals(infos, twins.cluster.slots, { each });
  for (const [plugin, wanted] of Object.entries(scores(twins, pod, feasible, dialect))) {
    // A plugin that has nothing to say of a pod is left out: it gives all nodes the same.
    const given = found[plugin] ?? wanted.map(() => wanted[0] ?? 0);
    if (JSON.stringify(given) !== JSON.stringify(wanted)) return { plugin, given, wanted };
  }
  return undefined;
}

t.test(`${clusters} random clusters: filters and scores are as the rules say`, { timeout: 300_000 }, (t) => {
  const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  /** How often each plugin refused a node, and how often scores were compared: every rule must have been met. */
  const met = new Map<string, number>();
  for (let seed = first; seed < first + clusters; seed++) {
    const twins = new Twins(seededRandom(seed), dialect);
    const kinds = [twins.make.pod(), twins.make.pod()];
    for (let step = 1; step <= 24; step++) {
      twins.step();
      if (step % 8 !== 0) continue;
      // Of one kind again and again, so that what was remembered is used, and of a new kind.
      for (const pod of [...kinds, twins.make.pod()]) {
        const wrong = difference(twins, pod, (what) => met.set(what, (met.get(what) ?? 0) + 1));
        if (wrong === undefined) continue;
        t.fail(`seed ${seed}, step ${step}`, { wrong, pod, pods: twins.pods, nodes: twins.nodes });
        t.end();
        return;
      }
    }
  }
  t.comment(`from seed ${first}: ${JSON.stringify([...met])}`);
  for (const { plugin } of profile.filters)
    if (!unmet.includes(plugin)) t.ok((met.get(plugin) ?? 0) > 100, `${plugin} refused`);
  t.ok((met.get('scores') ?? 0) > 1000, 'scores were compared');
  t.end();
});
