import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { compare } from '#apimachinery/apply/compare.js';
import {
  difference,
  type FieldSet,
  isEmptySet,
  recursiveDifference,
  setOfFields,
  setsEqual,
} from '#apimachinery/apply/field-set.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { randomChange, withoutDuplicates } from '#apimachinery/testing/random-change.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(kubernetesDialect);
const compared = (...call: Parameters<typeof compare>) => allSteps(compare(...call));
const structs = [...scheme.typeNames()].map((name) => scheme.type(name)).filter(({ shape }) => shape === 'struct');

t.test('comparisons are consistent for objects of every type', async (t) => {
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  const same = (actual: FieldSet, expected: FieldSet, what: string) => {
    if (!setsEqual(actual, expected)) t.strictSame(actual, expected, `${what}, SEED=${seed}`);
  };
  let changes = 0;
  for (const type of structs) {
    const object = withoutDuplicates(type, objects.object(type));
    if (!compared(type, object, copyJson(object)).isSame) t.fail(`${type.name}: a copy differs, SEED=${seed}`);
    const next = withoutDuplicates(type, randomChange(object, objects.object(type), random));
    const there = compared(type, object, next);
    const copied = compared(type, object, copyJson(next));
    same(copied.touched, there.touched, `${type.name}: same touched fields for a copy`);
    same(copied.removed, there.removed, `${type.name}: same removed fields for a copy`);
    const back = compared(type, next, object);
    same(
      there.removed,
      difference(back.touched, there.touched),
      `${type.name}: removed fields are new in the reverse comparison`,
    );
    if (there.isSame !== back.isSame || there.isSame !== (isEmptySet(there.touched) && isEmptySet(there.removed)))
      t.fail(`${type.name}: isSame agrees with the changes, SEED=${seed}`);
    const hidden = setOfFields(['metadata.labels', 'spec']);
    const seen = compared(type, object, next, hidden);
    same(seen.touched, recursiveDifference(there.touched, hidden), `${type.name}: hidden fields are skipped`);
    if (!there.isSame) changes++;
  }
  t.ok(changes > structs.length / 4);
});

const hidden = setOfFields(['metadata.labels', 'metadata.name', 'status']);

t.test('short steps give the same result in the same order', async (t) => {
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  let changes = 0;
  for (const type of structs) {
    const object = withoutDuplicates(type, objects.object(type));
    const next = withoutDuplicates(type, randomChange(object, objects.object(type), random));
    const pairs = [
      [object, next],
      [next, object],
      [{}, object],
      [object, {}],
    ] as const;
    for (const [left, right] of pairs) {
      for (const unseen of [undefined, hidden]) {
        const expected = compared(type, left, right, unseen);
        const actual = compared(type, left, right, unseen, 3);
        if (JSON.stringify(actual) !== JSON.stringify(expected))
          t.strictSame(actual, expected, `${type.name}, SEED=${seed}`);
        if (!expected.isSame) changes++;
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
    const steps = [...compare(type, left, right)];
    t.ok(steps.length > 5, `${steps.length} steps`);
  }
});

t.test('null is a value of an undeclared field', (t) => {
  const type = scheme.type('admissionregistration.v1.WebhookClientConfig');
  const { touched, removed } = compared(type, { a: 1 } as never, { a: 1, b: null } as never);
  t.strictSame([touched, removed], [{ 'f:b': {} }, {}]);
  t.strictSame(compared(type, { b: null } as never, {}).removed, { 'f:b': {} });
  t.end();
});
