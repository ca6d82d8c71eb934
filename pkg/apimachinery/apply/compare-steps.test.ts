import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { compare } from '#apimachinery/apply/compare.js';
import { compareSteps } from '#apimachinery/apply/compare-steps.js';
import { setOfFields } from '#apimachinery/apply/field-set.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { changed, withoutDuplicates } from '#apimachinery/testing/random-change.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(kubernetesDialect);
const structs = [...scheme.typeNames()].map((name) => scheme.type(name)).filter(({ shape }) => shape === 'struct');
const hidden = setOfFields(['metadata.labels', 'metadata.name', 'status']);

t.test('steps find what a comparison at once finds, in the same order', async (t) => {
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  let changes = 0;
  for (const type of structs) {
    const object = withoutDuplicates(type, objects.object(type));
    const next = withoutDuplicates(type, changed(object, objects.object(type), random));
    const pairs = [
      [object, next],
      [next, object],
      [{}, object],
      [object, {}],
    ] as const;
    for (const [left, right] of pairs) {
      for (const unseen of [undefined, hidden]) {
        const wanted = compare(type, left, right, unseen);
        const found = allSteps(compareSteps(type, left, right, unseen, 3));
        if (JSON.stringify(found) !== JSON.stringify(wanted)) t.strictSame(found, wanted, `${type.name}, SEED=${seed}`);
        if (!wanted.isSame) changes++;
      }
    }
  }
  t.ok(changes > structs.length);
});

t.test('a large object takes many steps', async (t) => {
  const type = scheme.kind('v1', 'ConfigMap')?.type;
  if (type === undefined) throw new Error('no config maps');
  const map = (value: string) => ({
    data: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, value])),
  });
  for (const [left, right] of [
    [{}, map('a')],
    [map('a'), {}],
    [map('a'), map('b')],
    [map('a'), map('a')],
  ] as const) {
    const steps = [...compareSteps(type, left, right)];
    t.ok(steps.length > 5, `${steps.length} steps`);
  }
});
