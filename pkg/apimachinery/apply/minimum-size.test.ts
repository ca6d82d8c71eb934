import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { addedFields } from '#apimachinery/apply/compare.js';
import { minimumSize } from '#apimachinery/apply/minimum-size.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { withoutDuplicates } from '#apimachinery/testing/random-change.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(kubernetesDialect);
const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const everything = Number.POSITIVE_INFINITY;

t.test('no object of any type is smaller than its minimum size', async (t) => {
  const objects = new RandomObjects(seededRandom(seed));
  for (const name of scheme.typeNames()) {
    const type = scheme.type(name);
    if (type.shape !== 'struct' || type.isList) continue;
    for (let i = 0; i < 4; i++) {
      const object = withoutDuplicates(type, objects.object(type));
      const alone = jsonBytes(object);
      const managed = alone + jsonBytes(allSteps(addedFields(type, object)));
      if (minimumSize(object, everything) > alone) t.fail(`${name}, SEED=${seed}`);
      if (minimumSize(object, everything, type) > managed) t.fail(`${name} with its manager, SEED=${seed}`);
    }
  }
});

t.test('the minimum size of uniform objects is close to their size', async (t) => {
  const pod = scheme.kind('v1', 'Pod')?.type;
  if (pod === undefined) throw new Error('no pods');
  const many = <T>(part: (i: number) => T): T[] => Array.from({ length: 1000 }, (_, i) => part(i));
  const rows: Readonly<Record<string, object>> = {
    labels: { metadata: { labels: Object.fromEntries(many((i) => [`k${i}`, 'v'])) } },
    finalizers: { metadata: { finalizers: many((i) => `a.b/k${i}`) } },
    containers: { spec: { containers: many((i) => ({ name: `c${i}`, image: 'a' })) } },
    arguments: { spec: { containers: [{ name: 'c', args: many(() => '') }] } },
  };
  for (const [name, object] of Object.entries(rows)) {
    const bytes = jsonBytes(object) + jsonBytes(allSteps(addedFields(pod, object)));
    const least = minimumSize(object, everything, pod);
    t.ok(least <= bytes && least > 0.7 * bytes, `${name}: ${least} of ${bytes}`);
    t.ok(minimumSize(object, 1000, pod) > 1000, name);
    t.ok(minimumSize(object, 1000, pod) < 1300, `${name}: the rest is not looked at`);
  }
});
