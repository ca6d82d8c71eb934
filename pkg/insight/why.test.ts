/** Prepared situations: the root cause comes first, and healthy objects are not accused. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { type Answer, rootCauses } from '#insight/inquiry/finding.js';
import { accessSituations } from '#insight/testing/access-situations.js';
import { claimSituations } from '#insight/testing/claim-situations.js';
import { healthy } from '#insight/testing/healthy.js';
import { healthyCluster } from '#insight/testing/healthy-cluster.js';
import { MemoryObservations } from '#insight/testing/memory-observations.js';
import { podSituations } from '#insight/testing/pod-situations.js';
import { serviceSituations } from '#insight/testing/service-situations.js';
import type { Situation } from '#insight/testing/situation.js';
import { systemSituations } from '#insight/testing/system-situations.js';
import { workloadSituations } from '#insight/testing/workload-situations.js';
import { why } from '#insight/why.js';

const situations: readonly Situation[] = [
  ...podSituations,
  ...workloadSituations,
  ...serviceSituations,
  ...claimSituations,
  ...systemSituations,
  ...accessSituations,
];

function ask({ about, ...scene }: Pick<Situation, 'about' | 'objects'>): Promise<Answer> {
  const observations = new MemoryObservations({ ...scene, objects: [about, ...scene.objects] });
  return why(dialect, observations, about.kind ?? '', about);
}

t.equal(new Set(situations.map(({ name }) => name)).size, situations.length, 'situations have names of their own');

for (const situation of situations) {
  t.test(situation.name, async (t) => {
    const answer = await ask(situation);
    const roots = rootCauses(answer.findings);
    t.equal(roots[0]?.reason, situation.root, `root cause: ${answer.summary}`);
    t.equal(answer.verdict, 'Stuck', 'the object is stuck');
    t.ok(answer.summary.includes(situation.says), `"${answer.summary}" says "${situation.says}"`);
    if (situation.quotes !== undefined) {
      const quoted = answer.findings.flatMap(allEvidence).join('\n');
      t.ok(quoted.includes(situation.quotes), `evidence quotes "${situation.quotes}": ${quoted}`);
    }
    const others = roots.slice(1).map(({ reason }) => reason);
    t.same(others, situation.others ?? [], 'no other root causes');
    for (const { summary } of roots) t.match(summary, /[.]$/, 'a summary is a sentence');
  });
}

function allEvidence({ evidence, causes }: Answer['findings'][number]): string[] {
  return [...evidence.map(({ text }) => text), ...causes.flatMap(allEvidence)];
}

for (const { name, verdict, ...scene } of healthy) {
  t.test(name, async (t) => {
    const answer = await ask(scene);
    t.same(
      answer.findings.map(({ summary }) => summary),
      [],
      'nothing is accused',
    );
    t.equal(answer.verdict, verdict);
  });
}

t.test('nothing is accused in a healthy cluster', async (t) => {
  const objects = healthyCluster();
  const observations = new MemoryObservations({ objects });
  const wrong: string[] = [];
  const kinds = new Set<string>();
  for (const object of objects) {
    const { kind = '', metadata } = object;
    const answer = await why(dialect, observations, kind, object);
    kinds.add(kind);
    if (answer.verdict === 'Stuck')
      wrong.push(`${kind} ${metadata.namespace ?? ''}/${metadata.name}: ${answer.summary}`);
  }
  t.same(wrong, []);
  t.ok(objects.length + healthy.length >= 200, `${objects.length} objects, and ${healthy.length} prepared ones`);
  t.ok(kinds.size >= 25, `of ${kinds.size} kinds`);
});
