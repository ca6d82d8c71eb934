/** Random pods violate what a slow, obvious implementation of the standards says. */
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { checkedPod } from '#apiserver/admission/podsecurity/standards/check.js';
import { violationsOf } from '#apiserver/admission/podsecurity/standards/evaluation.js';
import { modelReasons } from '#apiserver/admission/podsecurity/testing/model.js';
import { randomPod } from '#apiserver/admission/podsecurity/testing/random-pod.js';

t.test('random pods at all levels and versions', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);
  const allowed = { privileged: 0, baseline: 0, restricted: 0 };
  const differences: string[] = [];
  for (let i = 0; i < 300; i++) {
    const pod = randomPod(random);
    const checked = checkedPod(pod.metadata, pod.spec, orchDialect);
    for (const level of ['privileged', 'baseline', 'restricted'] as const)
      for (const minor of [0, 7, 8, 18, 19, 21, 22, 23, 25]) {
        const version = { text: `v1.${minor}`, minor };
        const reasons = violationsOf(checked, { level, version }).map(({ reason }) => reason);
        const expected = level === 'privileged' ? [] : modelReasons(pod, level, minor);
        if (reasons.length === 0) allowed[level]++;
        if (reasons.sort().join() !== expected.join())
          differences.push(
            `${level}:v1.${minor}: ${reasons.join()} instead of ${expected.join()}: ${JSON.stringify(pod)}`,
          );
      }
  }
  t.same(differences.slice(0, 3), [], `no difference with SEED=${seed}`);
  t.ok(allowed.restricted > 0 && allowed.baseline > allowed.restricted, `all verdicts occur with SEED=${seed}`);
});
