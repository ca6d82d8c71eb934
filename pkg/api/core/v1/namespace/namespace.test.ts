import t from 'tap';
import { namespaceStrategy, prepareFinalize, validateFinalize } from '#api/core/v1/namespace/strategy.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updated,
  withField,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const base: Draft = { metadata: { name: 'n' }, spec: {} };

t.test('create', (t) => {
  t.strictSame(created(namespaceStrategy, base), {
    metadata: { name: 'n', labels: { 'orch.io/metadata.name': 'n' } },
    spec: { finalizers: ['orch'] },
    status: { phase: 'Active' },
  });
  const object = copyJson(base as unknown as Namespace);
  namespaceStrategy.defaults?.(object, { ...testContext, dialect: kubernetesDialect });
  t.strictSame(object.metadata.labels, { 'kubernetes.io/metadata.name': 'n' });
  t.strictSame(createFailures(namespaceStrategy, base), []);
  t.match(createFailures(namespaceStrategy, withField(base, 'metadata.name', 'a.b')), [
    /^metadata.name: Invalid value: "a.b": a lowercase RFC 1123 label/,
  ]);
  t.strictSame(createFailures(namespaceStrategy, withField(base, 'spec.finalizers', ['mine'])), [
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
  t.end();
});

t.test('finalizers change through their subresource only', (t) => {
  const old = created(namespaceStrategy, base) as Namespace;
  const next = updated(namespaceStrategy, base, old) as Namespace;
  t.strictSame(next.spec.finalizers, ['orch']);
  const done = { ...copyJson(old), spec: {}, status: { phase: 'Terminating' } };
  prepareFinalize(done, old);
  t.strictSame(done.status, { phase: 'Active' });
  t.strictSame(validateFinalize(done, testContext), []);
  t.end();
});

t.test('phase follows deletion', (t) => {
  t.strictSame(statusFailures(namespaceStrategy, base, { new: { phase: 'Active' } }), []);
  t.strictSame(statusFailures(namespaceStrategy, base, { new: { phase: 'Terminating' } }), [
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ]);
  const deleted = withField(base, 'metadata.deletionTimestamp', '2024-05-31T23:00:00Z');
  t.strictSame(statusFailures(namespaceStrategy, deleted, { new: { phase: 'Terminating' } }), []);
  t.strictSame(statusFailures(namespaceStrategy, deleted, { new: { phase: 'Active' } }), [
    'status.Phase: Invalid value: "Active": may only be \'Terminating\' if `deletionTimestamp` is not empty',
  ]);
  t.end();
});
