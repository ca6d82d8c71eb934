import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { type ApplyRequest, applyPatch } from '#apimachinery/apply/apply.js';
import { withoutQuestions } from '#apimachinery/apply/conversions.js';
import { unmanagedBy, updateManagedFields } from '#apimachinery/apply/managed-fields.js';
import type { ManagedFieldsEntry } from '#apimachinery/apply/managers.js';
import { prune } from '#apimachinery/apply/merge.js';
import { decodeValue } from '#apimachinery/codec/json/json.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';

const scheme = schemeFor(kubernetesDialect);
const type = scheme.type('apps.v1.Deployment');
const start = Date.parse('2024-01-01T00:00:00Z');

function deployment(spec: object, metadata: object = {}): JsonObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', ...metadata }, spec };
}

/** The history of one object, with a clock that advances one minute per write. */
class Story {
  live: JsonObject | undefined;
  #now = start;

  apply(manager: string, applied: JsonObject, options: Partial<ApplyRequest> = {}): boolean {
    this.#now += 60_000;
    const { object, changed } = applyPatch({
      type,
      apiVersion: 'apps/v1',
      subresource: '',
      live: this.live,
      applied,
      manager,
      force: false,
      now: this.#now,
      ...options,
    });
    this.live = decodeValue(structuredClone(object), type).object;
    return changed;
  }

  update(manager: string, change: (object: JsonObject) => void, subresource = ''): void {
    this.#now += 60_000;
    const updated = structuredClone(this.live ?? { apiVersion: 'apps/v1', kind: 'Deployment' });
    change(updated);
    const canonical = decodeValue(updated, type).object as JsonObject & { metadata: Record<string, unknown> };
    const entries = withoutQuestions(
      updateManagedFields({
        type,
        apiVersion: 'apps/v1',
        subresource,
        live: this.live,
        updated: canonical,
        manager,
        now: this.#now,
      }),
    );
    canonical.metadata.managedFields = entries;
    this.live = canonical;
  }

  get spec(): Record<string, unknown> {
    return this.live?.spec as Record<string, unknown>;
  }

  get metadata(): {
    managedFields?: ManagedFieldsEntry[];
    labels?: object;
    name?: string;
    annotations: Record<string, string>;
  } {
    return (this.live?.metadata ?? {}) as Story['metadata'];
  }

  get entries(): ManagedFieldsEntry[] {
    return this.metadata.managedFields ?? [];
  }

  fields(manager: string): unknown {
    return this.entries.find((entry) => entry.manager === manager)?.fieldsV1;
  }
}

function conflictsOf(run: () => unknown): { message: string; fields: string[] } {
  try {
    run();
  } catch (error) {
    const status = statusOf(error);
    if (status?.reason !== 'Conflict') throw error;
    return { message: status.message ?? '', fields: (status.details?.causes ?? []).map((cause) => cause.field ?? '') };
  }
  return { message: '', fields: [] };
}

const container = (image: string, more: object = {}) => ({ name: 'a', image, ...more });
const template = (...containers: object[]) => ({ template: { spec: { containers } } });

/** The stored form, with the messages that are always present. */
const stored = (spec: object) => decodeValue(structuredClone({ spec }), type).object.spec;

t.test('the creator manages all fields of a new object', async (t) => {
  const story = new Story();
  story.update('kubectl-client-side-apply', (object) => {
    Object.assign(object, {
      metadata: { name: 'web', namespace: 'default', uid: 'u', generation: 1, labels: { app: 'web' } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [
              container('x', { ports: [{ containerPort: 80, protocol: 'TCP' }], env: [{ name: 'E', value: '1' }] }),
            ],
            securityContext: {},
          },
        },
      },
      status: { replicas: 1 },
    });
  });
  t.strictSame(story.entries, [
    {
      manager: 'kubectl-client-side-apply',
      operation: 'Update',
      apiVersion: 'apps/v1',
      time: '2024-01-01T00:01:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:replicas': {},
          'f:selector': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:containers': {
                'k:{"name":"a"}': {
                  '.': {},
                  'f:env': { '.': {}, 'k:{"name":"E"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
                  'f:image': {},
                  'f:name': {},
                  'f:ports': {
                    '.': {},
                    'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                  },
                  'f:resources': {},
                },
              },
              'f:securityContext': {},
            },
          },
        },
      },
    },
  ]);
});

t.test('an update moves changed fields to the updater', async (t) => {
  const story = new Story();
  story.update('a', (o) => Object.assign(o, deployment({ replicas: 1, paused: true, ...template(container('x')) })));
  const before = story.entries;
  story.update('b', () => undefined);
  t.strictSame(story.entries, before, 'without changes all fields keep their managers');
  story.update('b', (object) => {
    (object.spec as JsonObject).replicas = 2;
  });
  t.strictSame(story.fields('b'), { 'f:spec': { 'f:replicas': {} } });
  t.notMatch(story.fields('a'), { 'f:spec': { 'f:replicas': {} } });
  story.update('b', (object) => {
    delete (object.spec as JsonObject).paused;
  });
  t.notMatch(story.fields('a'), { 'f:spec': { 'f:paused': {} } }, 'a removed field has no manager');
  story.update(
    'controller',
    (object) => Object.assign(object, { status: { replicas: 2, readyReplicas: 1 } }),
    'status',
  );
  t.match(
    story.entries.find((entry) => entry.manager === 'controller'),
    { subresource: 'status', fieldsV1: { 'f:status': { 'f:replicas': {}, 'f:readyReplicas': {} } } },
  );
  for (let i = 0; i < 15; i++) {
    story.update(`m${i}`, (object) => {
      (object.metadata as JsonObject).annotations = {
        n: `${i}`,
        [`k${i}`]: 'x',
        ...((object.metadata as JsonObject).annotations as object),
      };
    });
  }
  t.equal(story.entries.length, 10, 'old updaters are merged');
  t.ok(story.entries.some((entry) => entry.manager === 'ancient-changes'));
  story.update('z', (object) => {
    (object.metadata as JsonObject).managedFields = [{}];
  });
  t.strictSame(story.entries, [], 'a client may drop all managers');
});

t.test('apply creates, changes and removes', async (t) => {
  const story = new Story();
  story.apply(
    'me',
    deployment(
      { replicas: 1, minReadySeconds: 5, ...template(container('x:1'), { name: 'b', image: 'b' }) },
      { labels: { l: '1' } },
    ),
  );
  t.strictSame(story.fields('me'), {
    'f:metadata': { 'f:labels': { 'f:l': {} } },
    'f:spec': {
      'f:minReadySeconds': {},
      'f:replicas': {},
      'f:template': {
        'f:spec': {
          'f:containers': {
            'k:{"name":"a"}': { '.': {}, 'f:image': {}, 'f:name': {} },
            'k:{"name":"b"}': { '.': {}, 'f:image': {}, 'f:name': {} },
          },
        },
      },
    },
  });
  const before = structuredClone(story.live);
  const same = deployment(
    { replicas: 1, minReadySeconds: 5, ...template(container('x:1'), { name: 'b', image: 'b' }) },
    { labels: { l: '1' } },
  );
  t.equal(story.apply('me', same), false);
  t.strictSame(story.live, before, 'the same apply again changes nothing, not even times');
  t.equal(story.apply('me', deployment({ replicas: 2, ...template(container('x:2')) })), true);
  t.strictSame(
    story.spec,
    stored({ replicas: 2, ...template(container('x:2')) }),
    'a field that is no longer applied is removed',
  );
  t.equal(story.metadata.labels, undefined);
  t.equal(story.metadata.name, 'web');
  t.equal(story.apply('me', deployment({ replicas: 2, ...template(container('x:2', { stdin: false })) })), false);
  t.equal(
    story.apply('me', deployment({ replicas: 2, ...template(container('x:2', { stdin: false })) })),
    false,
    'zero values are stable',
  );
});

t.test('fields of other managers stay', async (t) => {
  const story = new Story();
  story.apply('me', deployment({ replicas: 1, ...template(container('x'), { name: 'b', image: 'b' }) }));
  story.update('other', (object) => {
    const spec = object.spec as { template: { spec: { containers: JsonObject[] } } };
    spec.template.spec.containers.push({ name: 'sidecar', image: 's' });
    (spec.template.spec.containers[0] as JsonObject).env = [{ name: 'E', value: '1' }];
    (object.metadata as JsonObject).annotations = { note: 'x' };
  });
  story.apply('me', deployment({ ...template(container('x')) }));
  t.strictSame(
    story.spec,
    stored(template(container('x', { env: [{ name: 'E', value: '1' }] }), { name: 'sidecar', image: 's' })),
  );
  t.match(story.live, { metadata: { annotations: { note: 'x' } } });
});

t.test('an apply that changes fields of other managers gets conflicts', async (t) => {
  const story = new Story();
  story.apply('me', deployment({ replicas: 1, ...template(container('x:1')) }));
  const conflicts = conflictsOf(() => story.apply('you', deployment({ replicas: 2, ...template(container('x:2')) })));
  t.strictSame(conflicts, {
    message:
      'Apply failed with 2 conflicts: conflicts with "me":\n- .spec.replicas\n- .spec.template.spec.containers[name="a"].image',
    fields: ['.spec.replicas', '.spec.template.spec.containers[name="a"].image'],
  });
  story.apply('you', deployment({ replicas: 1 }));
  t.match(story.fields('you'), { 'f:spec': { 'f:replicas': {} } }, 'managers share a field with the same value');
  story.apply('me', deployment(template(container('x:1'))));
  t.equal(story.spec.replicas, 1, 'a field stays while another manager owns it');
  story.apply('me', deployment({ replicas: 5, ...template(container('x:1')) }), { force: true });
  t.equal(story.spec.replicas, 5);
  t.equal(story.fields('you'), undefined, 'a manager without fields is removed');
  story.update('hpa', (object) => {
    (object.spec as JsonObject).replicas = 7;
  });
  t.strictSame(
    conflictsOf(() => story.apply('me', deployment({ replicas: 5, ...template(container('x:1')) }))).message,
    'Apply failed with 1 conflict: conflict with "hpa" using apps/v1: .spec.replicas',
  );
  story.apply('me', deployment(template(container('x:1'))));
  t.equal(story.spec.replicas, 7, 'the field stays with its new manager');
  story.update('hpa', (object) => Object.assign(object, { status: { replicas: 1 } }), 'status');
});

t.test('false and zero count as applied values', async (t) => {
  const story = new Story();
  story.update('a', (o) => Object.assign(o, deployment({ paused: true, ...template(container('x')) })));
  t.strictSame(conflictsOf(() => story.apply('b', deployment({ paused: false }))).fields, ['.spec.paused']);
  story.apply('b', deployment({ paused: false }), { force: true });
  t.equal(story.spec.paused, undefined);
});

t.test('fields of client-side apply are taken over', async (t) => {
  const annotation = kubernetesDialect.annotations.lastApplied;
  const clientSideApply = { manager: 'kubectl', annotation };
  const applied = deployment({ replicas: 3, ...template(container('x:1')) });
  const story = new Story();
  story.update('kubectl-client-side-apply', (object) => {
    Object.assign(object, structuredClone(applied));
    (object.metadata as JsonObject).annotations = { [annotation]: JSON.stringify(applied) };
  });
  const next = deployment({ replicas: 3, ...template(container('x:2')) });
  t.not(
    conflictsOf(() => story.apply('other', next, { clientSideApply })).message,
    '',
    'only the client itself takes over the fields',
  );
  story.apply('kubectl', next, { clientSideApply });
  t.match(story.spec, template(container('x:2')));
  const { annotations } = story.metadata;
  t.strictSame(JSON.parse(annotations[annotation] ?? ''), next, 'the annotation is updated');
  story.update('kubectl-edit', (object) => {
    (object.spec as JsonObject).replicas = 9;
  });
  t.strictSame(
    conflictsOf(() => story.apply('kubectl', next, { clientSideApply })).fields,
    ['.spec.replicas'],
    'except fields that changed since',
  );
});

t.test('invalid configurations are refused', async (t) => {
  const story = new Story();
  const rows: [object, RegExp, number?][] = [
    [{ apiVersion: 'apps/v2', kind: 'Deployment' }, /Incorrect version specified in apply patch/, 400],
    [
      deployment({ foo: 1 }),
      /failed to create typed patch object \(\/web; apps\/v1, Kind=Deployment\): \.spec\.foo: field not declared in schema/,
    ],
    [deployment({ replicas: 'x' }), /\.spec\.replicas: expected numeric \(int or float\), got string$/],
    [
      deployment({ replicas: 2.5 }),
      /^failed to convert new object .* to proper version: .*: cannot convert float64 to int32$/,
    ],
    [{ kind: 'Deployment' }, /Specified patch version: , expected: apps\/v1/, 400],
    [{ apiVersion: 'apps/v1' }, /no corresponding type for apps\/v1, Kind=$/],
    [{ apiVersion: 'apps/v1', kind: 'DaemonSet' }, /no corresponding type for apps\/v1, Kind=DaemonSet/],
    [
      deployment(template(container('x'), container('y'))),
      /^failed to create typed patch object .*containers: duplicate entries for key \[name="a"\]/,
    ],
    [
      deployment({ template: { spec: { imagePullSecrets: [{}] } } }),
      /imagePullSecrets: element 0: associative list with keys has an element that omits key field "name" \(and doesn't have default value\)$/,
    ],
    [deployment({}, { managedFields: [{ manager: 'x' }] }), /metadata.managedFields must be nil/, 400],
  ];
  for (const [applied, message, code = 500] of rows) {
    t.throws(() => story.apply('me', applied as JsonObject), { code, message });
  }
  story.update('a', (o) => Object.assign(o, deployment(template(container('x')))));
  story.update('b', (object) => {
    (object.metadata as JsonObject).managedFields = [{ manager: 'x', operation: 'Nonsense' }];
  });
  t.match(story.entries, [{ manager: 'a' }], 'malformed entries count as absent');
});

t.test('members named like members of Object.prototype are ordinary', async (t) => {
  const story = new Story();
  story.update('a', (o) =>
    Object.assign(o, deployment(template(container('x')), { labels: { toString: 'x', b: 'y' } })),
  );
  story.update('b', (object) => {
    (object.metadata as JsonObject).labels = { b: 'y' };
  });
  t.strictSame(story.fields('b'), undefined);
  t.match(story.fields('a'), { 'f:metadata': { 'f:labels': { 'f:b': {} } } });
  t.equal(JSON.stringify(story.fields('a')).includes('toString'), false);
});

t.test('references are atomic', async (t) => {
  const pod = scheme.type('core.v1.Pod');
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u1' };
  const entries = withoutQuestions(
    updateManagedFields({
      type: pod,
      apiVersion: 'v1',
      subresource: '',
      live: undefined,
      updated: {
        metadata: { ownerReferences: [owner], finalizers: ['x/y'] },
        spec: { imagePullSecrets: [{ name: 's' }], nodeSelector: { a: 'b' }, containers: [] },
      },
      manager: 'm',
      now: start,
    }),
  );
  t.strictSame(entries[0]?.fieldsV1, {
    'f:metadata': {
      'f:finalizers': { '.': {}, 'v:"x/y"': {} },
      'f:ownerReferences': { '.': {}, 'k:{"uid":"u1"}': {} },
    },
    // An empty list differs from the null of a new object.
    'f:spec': { 'f:containers': {}, 'f:imagePullSecrets': { '.': {}, 'k:{"name":"s"}': {} }, 'f:nodeSelector': {} },
  });
});

t.test('null and empty remain distinct', (t) => {
  const labelled = (labels: unknown) => deployment({ template: { metadata: { labels } } });
  for (const [live, applied] of [
    [null, null],
    [{}, {}],
    [null, {}],
  ]) {
    const { object } = applyPatch({
      type,
      apiVersion: 'apps/v1',
      subresource: '',
      live: labelled(live),
      applied: labelled(applied),
      manager: 'one',
      force: false,
      now: start,
    });
    t.strictSame(object['spec'], labelled(applied)['spec'], JSON.stringify([live, applied]));
  }
  const fields = { 'f:spec': { 'f:template': { 'f:metadata': { 'f:labels': {} } } } };
  const live = labelled(null);
  t.strictSame(prune(type, live, fields, fields), labelled(null), 'fields of an earlier apply remain');
  t.end();
});

t.test('the writer of an empty required list becomes its manager', (t) => {
  const written = (spec: object) =>
    withoutQuestions(
      updateManagedFields({
        type: scheme.type('core.v1.LimitRange'),
        apiVersion: 'v1',
        subresource: '',
        live: undefined,
        updated: { metadata: {}, spec },
        manager: 'm',
        now: start,
      }),
    );
  t.strictSame(written({ limits: [] })[0]?.fieldsV1, { 'f:spec': { 'f:limits': {} } });
  t.strictSame(written({}), [], 'an absent list has no manager');
  t.end();
});

t.test('a reset of fields by the endpoint alone is no change', async (t) => {
  const story = new Story();
  story.apply('a', deployment({ replicas: 1 }));
  const before = story.live?.status;
  const reset = unmanagedBy(['status']);
  for (const replicas of [3, 2 ** 40]) {
    const applied = { ...deployment({ replicas: 1 }), status: { replicas } };
    t.equal(story.apply('a', applied, { reset }), false, `${replicas} is not validated`);
    t.strictSame(story.live?.status, before);
  }
});
