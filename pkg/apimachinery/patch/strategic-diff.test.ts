import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { mergeRulesOf, plainRules, strategicDiff } from '#apimachinery/patch/strategic-diff.js';
import { strategicMergePatch } from '#apimachinery/patch/strategic-merge-patch.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const deployment = schemeFor(kubernetesDialect).kind('apps/v1', 'Deployment')?.type;
const rules = mergeRulesOf(deployment);
const spec = (containers: object[], more: object = {}): JsonObject => ({
  spec: { template: { spec: { containers, ...more } } },
});

t.test('merges lists by their keys', (t) => {
  const original = spec([{ name: 'a', image: '1', env: [{ name: 'X', value: '1' }] }]);
  const modified = spec([{ name: 'a', image: '2', env: [{ name: 'Y', value: '2' }] }]);
  const current = spec([
    { name: 'a', image: '1', env: [{ name: 'X', value: '1' }], imagePullPolicy: 'Always' },
    { name: 'sidecar', image: 's' },
  ]);
  const patch = strategicDiff(original, modified, current, rules);
  t.same(patch, {
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: 'a',
              image: '2',
              env: [
                { name: 'Y', value: '2' },
                { $patch: 'delete', name: 'X' },
              ],
              '$setElementOrder/env': [{ name: 'Y' }],
            },
          ],
          '$setElementOrder/containers': [{ name: 'a' }],
        },
      },
    },
  });
  t.same(strategicMergePatch(current, patch, deployment), {
    ...spec([
      { name: 'a', image: '2', env: [{ name: 'Y', value: '2' }], imagePullPolicy: 'Always' },
      { name: 'sidecar', image: 's' },
    ]),
  });
  t.end();
});

t.test('keeps nothing else of a strategy, and replaces lists without key', (t) => {
  const before = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
  const after = { spec: { strategy: { type: 'Recreate' } } };
  const patch = strategicDiff(before, after, before, rules);
  t.same(strategicMergePatch(before, patch, deployment), after);
  const args = (...list: string[]) => spec([{ name: 'a', args: list }]);
  t.match(strategicDiff({}, args('x'), args('y', 'z'), rules), spec([{ name: 'a', args: ['x'] }]));
  t.same(strategicDiff({ a: [1], b: 1 }, { a: [1, 2] }, { a: [1], b: 1, c: 1 }, plainRules), { a: [1, 2], b: null });
  t.same(strategicDiff({ a: 1 }, { a: 1 }, { a: 1, b: 2 }, rules), {});
  t.end();
});

t.test('brings random objects to what was asked for', (t) => {
  const random = seededRandom(3);
  const pick = (n: number) => Math.floor(random() * n);
  const env = () => ['X', 'Y', 'Z'].filter(() => pick(2) === 0).map((name) => ({ name, value: String(pick(3)) }));
  const containers = () =>
    ['a', 'b', 'c']
      .filter(() => pick(3) > 0)
      .map((name) => ({ name, image: String(pick(3)), env: env(), args: [String(pick(2))] }));
  const finalizers = () => ['f', 'g', 'h'].filter(() => pick(2) === 0);
  const object = (): JsonObject => ({
    metadata: { labels: { a: String(pick(3)) }, finalizers: finalizers() },
    ...spec(containers(), { nodeSelector: { x: String(pick(2)) } }),
  });
  for (let i = 0; i < 500; i += 1) {
    const [before, after] = [object(), object()];
    const patch = strategicDiff(before, after, before, rules);
    const result = strategicMergePatch(before, patch, deployment);
    if (JSON.stringify(sorted(result)) !== JSON.stringify(sorted(after))) t.same(result, after, JSON.stringify(before));
  }
  t.end();
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}
