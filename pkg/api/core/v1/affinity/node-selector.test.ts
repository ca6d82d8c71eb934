import t from 'tap';
import {
  matchesNodeRequirement,
  matchesNodeSelectorTerm,
  matchesRequiredNodeAffinity,
  preferredNodeWeight,
} from '#api/core/v1/affinity/node-selector.js';
import type { Node, NodeSelectorTerm, PodSpec } from '#api/core/v1/types.gen.js';

const node: Node = { metadata: { name: 'n1', labels: { zone: 'a', cores: '8' } }, spec: {} };

t.test('requirements on labels', (t) => {
  const rows: [string, string, string[] | undefined, boolean][] = [
    ['zone', 'In', ['a', 'b'], true],
    ['zone', 'In', ['b'], false],
    ['zone', 'In', [], false],
    ['none', 'In', [''], false],
    ['zone', 'NotIn', ['b'], true],
    ['zone', 'NotIn', ['a'], false],
    ['none', 'NotIn', ['a'], true],
    ['zone', 'NotIn', [], false],
    ['zone', 'Exists', undefined, true],
    ['none', 'Exists', undefined, false],
    ['zone', 'Exists', ['a'], false],
    ['none', 'DoesNotExist', undefined, true],
    ['zone', 'DoesNotExist', undefined, false],
    ['cores', 'Gt', ['7'], true],
    ['cores', 'Gt', ['8'], false],
    ['cores', 'Lt', ['9'], true],
    ['cores', 'Lt', ['8'], false],
    ['cores', 'Gt', ['x'], false],
    ['zone', 'Gt', ['1'], false],
    ['cores', 'Gt', ['1', '2'], false],
    ['none', 'Lt', ['9'], false],
    ['zone', 'Other', ['a'], false],
    ['toString', 'Exists', undefined, false],
  ];
  for (const [key, operator, values, want] of rows) {
    const requirement = { key, operator, ...(values !== undefined && { values }) };
    t.equal(matchesNodeRequirement(requirement, node.metadata.labels), want, `${key} ${operator} ${values?.join()}`);
  }
  t.end();
});

t.test('terms', (t) => {
  const name = (operator: string, ...values: string[]): NodeSelectorTerm => ({
    matchFields: [{ key: 'metadata.name', operator, values }],
  });
  const rows: [string, NodeSelectorTerm, boolean][] = [
    ['empty', {}, false],
    ['name in', name('In', 'n1'), true],
    ['name not in', name('NotIn', 'n1'), false],
    ['other name not in', name('NotIn', 'n2'), true],
    ['two names', name('In', 'n1', 'n2'), false],
    ['other field', { matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['n1'] }] }, false],
    ['both must match', { ...name('In', 'n1'), matchExpressions: [{ key: 'none', operator: 'Exists' }] }, false],
  ];
  for (const [what, term, want] of rows) t.equal(matchesNodeSelectorTerm(term, node), want, what);
  t.end();
});

t.test('selector and required affinity of a pod', (t) => {
  const affinity = (...nodeSelectorTerms: NodeSelectorTerm[]): Partial<PodSpec> => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const a: NodeSelectorTerm = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] };
  const b: NodeSelectorTerm = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] };
  const rows: [string, Partial<PodSpec>, boolean][] = [
    ['nothing asked', {}, true],
    ['label', { nodeSelector: { zone: 'a' } }, true],
    ['other label', { nodeSelector: { zone: 'b' } }, false],
    ['no terms', affinity(), false],
    ['any term', affinity(b, a), true],
    ['no term matches', affinity(b), false],
    ['both', { nodeSelector: { zone: 'b' }, ...affinity(a) }, false],
  ];
  for (const [what, spec, want] of rows) {
    t.equal(matchesRequiredNodeAffinity({ containers: [], ...spec }, node), want, what);
  }
  t.equal(
    preferredNodeWeight(
      [
        { weight: 3, preference: a },
        { weight: 5, preference: b },
        { weight: 7, preference: a },
      ],
      node,
    ),
    10,
  );
  t.end();
});
