import t from 'tap';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { planRoll, quietMs, type RollState } from '#controllers/rollonchange/plan.js';
import { digestOf, referencesHash, referencesOf, selectedReferences } from '#controllers/rollonchange/references.js';

const template: PodTemplateSpec = {
  spec: {
    volumes: [
      { name: 'a', configMap: { name: 'files' } },
      { name: 'b', secret: { secretName: 'key', optional: true } },
      { name: 'c', projected: { sources: [{ configMap: { name: 'part' } }, { secret: { name: 'other' } }] } },
    ],
    initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'first' } }, { configMapRef: { name: 'files' } }] }],
    containers: [
      { name: 'c', env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'env', key: 'x', optional: true } } }] },
    ],
  },
};

t.test('everything that the pods of a template use', (t) => {
  const { all, required } = referencesOf(template);
  t.same(all, ['configmap/env', 'configmap/files', 'configmap/part', 'secret/first', 'secret/key', 'secret/other']);
  t.notOk(required.has('secret/key'), 'optional references are not required');
  t.ok(required.has('configmap/files'));
  t.same(referencesOf({}), { all: [], required: new Set() }, 'an empty template');
  const of = (annotation: string | undefined) => selectedReferences(annotation, referencesOf(template))?.all;
  t.same(of('true'), all);
  t.same(of('configmap/env, Secret/key,secret/none'), ['configmap/env', 'secret/key'], 'listed ones that are used');
  for (const off of [undefined, '', 'false']) t.equal(of(off), undefined, `off: ${off}`);
  t.end();
});

t.test('hashes depend on content alone', (t) => {
  t.equal(digestOf({ data: { a: '1', b: '2' } }), digestOf({ data: { b: '2', a: '1' } }), 'the order does not count');
  t.not(digestOf({ data: { a: '1' } }), digestOf({ data: { a: '2' } }));
  t.not(digestOf({ data: { a: '1' } }), digestOf({ binaryData: { a: '1' } }));
  t.not(digestOf({ data: { ab: 'c' } }), digestOf({ data: { a: 'bc' } }));
  const references = referencesOf({ spec: { containers: [], volumes: template.spec?.volumes?.slice(0, 2) ?? [] } });
  const hash = (digests: Record<string, string>) => referencesHash(references, (each) => digests[each]);
  t.match(hash({ 'configmap/files': 'x' }), /^[0-9a-f]{16}$/, 'an optional object may be missing');
  t.not(hash({ 'configmap/files': 'x' }), hash({ 'configmap/files': 'x', 'secret/key': 'y' }));
  t.equal(hash({ 'secret/key': 'y' }), undefined, 'a required one may not');
  t.end();
});

t.test('when a workload rolls out', (t) => {
  const base: RollState = { recorded: 'old', actual: 'new', pending: undefined, nowMs: 100_000 };
  const rows: readonly (readonly [string, Partial<RollState>, object])[] = [
    ['no change', { actual: 'old' }, { action: 'nothing' }],
    ['a required object is missing', { actual: undefined }, { action: 'nothing' }],
    ['not followed before', { recorded: undefined }, { action: 'record', hash: 'new' }],
    ['a change', {}, { action: 'wait', hash: 'new', sinceMs: 100_000, ms: quietMs }],
    [
      'soon after',
      { pending: { hash: 'new', sinceMs: 98_000 } },
      { action: 'wait', hash: 'new', sinceMs: 98_000, ms: 3000 },
    ],
    ['another change', { pending: { hash: 'older', sinceMs: 90_000 } }, { action: 'wait', sinceMs: 100_000 }],
    ['quiet', { pending: { hash: 'new', sinceMs: 95_000 } }, { action: 'roll', hash: 'new' }],
  ];
  for (const [name, state, plan] of rows) t.match(planRoll({ ...base, ...state }), plan, name);
  t.end();
});
