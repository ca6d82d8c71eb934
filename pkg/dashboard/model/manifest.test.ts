import t from 'tap';
import type { ApiObject } from '#dashboard/model/api-object.js';
import { conflictsOf } from '#dashboard/model/conflicts.js';
import { applyPatch, editableOf, masked, readableOf, removedFields } from '#dashboard/model/manifest.js';
import { RequestError } from '#dashboard/model/trouble.js';

const container = (name: string, image: string) => ({ name, image, resources: {} });
const key = (name: string) => `k:{"name":"${name}"}`;
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    ...{ name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '5', generation: 2 },
    labels: { app: 'web' },
    managedFields: [
      {
        ...{ manager: 'kubectl', operation: 'Update' },
        fieldsV1: {
          'f:spec': {
            'f:replicas': {},
            'f:template': {
              'f:spec': { 'f:containers': { [key('a')]: { 'f:image': {} }, [key('b')]: { 'f:image': {} } } },
            },
          },
        },
      },
      { manager: 'orch-dashboard', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
    ],
  },
  spec: {
    ...{ replicas: 2, paused: true },
    template: { spec: { containers: [container('a', 'a:1'), container('b', 'b:1')], args: ['x', 'y'] } },
  },
  status: { replicas: 2 },
} as unknown as ApiObject;

type Editable = ReturnType<typeof editableOf>;
const edit = (change: (spec: Record<string, unknown>) => void): Editable => {
  const copy = structuredClone(editableOf(deployment)) as Record<string, unknown>;
  change(copy['spec'] as Record<string, unknown>);
  return copy as Editable;
};
const identity = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop' } };

t.test('an apply has the changed fields and those of earlier edits', async (t) => {
  t.same(applyPatch(deployment, editableOf(deployment)), { ...identity, spec: { paused: true } }, 'nothing changed');
  const scaled = edit((spec) => {
    spec['replicas'] = 3;
  });
  t.same(applyPatch(deployment, scaled), { ...identity, spec: { replicas: 3, paused: true } }, 'one field');
  const image = edit((spec) => {
    const { containers } = (spec['template'] as { spec: { containers: { image: string }[] } }).spec;
    (containers[1] as { image: string }).image = 'b:2';
  });
  t.same(
    applyPatch(deployment, image),
    { ...identity, spec: { paused: true, template: { spec: { containers: [{ name: 'b', image: 'b:2' }] } } } },
    'an element by its key',
  );
  const args = edit((spec) => {
    (spec['template'] as { spec: { args: string[] } }).spec.args = ['x'];
  });
  t.same(
    applyPatch(deployment, args),
    { ...identity, spec: { paused: true, template: { spec: { args: ['x'] } } } },
    'an atomic list as a whole',
  );
  const without = edit((spec) => {
    delete spec['paused'];
  });
  t.same(applyPatch(deployment, without), identity, 'a field of an earlier edit is given up');
  t.same(removedFields(editableOf(deployment), without), ['spec.paused']);
});

t.test('what is shown and edited', async (t) => {
  t.same(Object.keys(editableOf(deployment)), ['apiVersion', 'kind', 'metadata', 'spec'], 'no status');
  t.same(editableOf(deployment)['metadata'], { name: 'web', namespace: 'shop', labels: { app: 'web' } });
  t.notOk('managedFields' in (readableOf(deployment)['metadata'] as object));
});

t.test('values of secrets are hidden, and their copies', async (t) => {
  const annotation = 'kubectl.example/last-applied-configuration';
  const secret = {
    metadata: { name: 's', annotations: { [annotation]: 'aGVsbG8=', other: 'x' } },
    data: { key: 'aGVsbG8=' },
  };
  const text = JSON.stringify(masked(secret as ApiObject));
  t.notMatch(text, /aGVsbG8/);
  t.match(text, /"other":"x"/);
});

t.test('conflicts by manager', async (t) => {
  const cause = (manager: string, field: string) => ({
    ...{ reason: 'FieldManagerConflict', message: `conflict with "${manager}" using apps/v1`, field },
  });
  const details = {
    causes: [cause('kubectl', '.spec.replicas'), cause('hpa', '.spec.x'), cause('kubectl', '.spec.y')],
  };
  t.same(conflictsOf(new RequestError(409, 'conflict', { details })), [
    { manager: 'kubectl', fields: ['.spec.replicas', '.spec.y'] },
    { manager: 'hpa', fields: ['.spec.x'] },
  ]);
});
