import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { hasNulls, nullsOf, withNulls, withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

const scheme = schemeFor(kubernetesDialect);
const time = '2024-05-01T10:00:00Z';

interface Row {
  readonly type: string;
  readonly memory: object;
  /** Members in the order of 1.24's output. */
  readonly text: object;
}

const rows: readonly Row[] = [
  {
    type: 'apps.v1.Deployment',
    memory: { metadata: { name: 'a', creationTimestamp: time }, spec: { template: { metadata: { labels: {} } } } },
    text: {
      metadata: { name: 'a', creationTimestamp: time },
      spec: { selector: null, template: { metadata: { creationTimestamp: null, labels: {} } } },
    },
  },
  {
    type: 'core.v1.Pod',
    memory: {
      metadata: { creationTimestamp: time },
      spec: {
        volumes: [{ name: 'e', ephemeral: { volumeClaimTemplate: { metadata: {} } } }, { name: 'f' }],
        containers: [],
      },
      status: {
        conditions: [
          { type: 'Ready', status: 'True', lastTransitionTime: time, reason: 'r' },
          { type: 'Odd', status: 'True', lastProbeTime: time, lastTransitionTime: time },
        ],
        containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 1 } } }],
      },
    },
    text: {
      metadata: { creationTimestamp: time },
      spec: {
        volumes: [
          { name: 'e', ephemeral: { volumeClaimTemplate: { metadata: { creationTimestamp: null } } } },
          { name: 'f' },
        ],
        containers: null,
      },
      status: {
        conditions: [
          { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: time, reason: 'r' },
          { type: 'Odd', status: 'True', lastProbeTime: time, lastTransitionTime: time },
        ],
        containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 1, startedAt: null, finishedAt: null } } }],
      },
    },
  },
  {
    type: 'core.v1.Event',
    memory: { metadata: { creationTimestamp: time }, lastTimestamp: time, count: 1, type: 'Normal' },
    text: {
      metadata: { creationTimestamp: time },
      firstTimestamp: null,
      lastTimestamp: time,
      count: 1,
      type: 'Normal',
      eventTime: null,
    },
  },
  { type: 'rbac.v1.Role', memory: { metadata: {} }, text: { metadata: { creationTimestamp: null }, rules: null } },
  {
    type: 'core.v1.TypedLocalObjectReference',
    memory: { kind: 'A', name: 'a' },
    text: { apiGroup: null, kind: 'A', name: 'a' },
  },
];

for (const { type: name, memory, text } of rows) {
  t.test(name, async (t) => {
    const type = scheme.type(name);
    const before = JSON.stringify(memory);
    t.equal(JSON.stringify(withNulls(type, memory)), JSON.stringify(text), 'in the text');
    t.equal(JSON.stringify(withNulls(type, text)), JSON.stringify(text), 'once more');
    const { containers: _, ...spec } = (memory as { spec?: Record<string, unknown> }).spec ?? {};
    const back = 'spec' in memory ? { ...memory, spec } : memory;
    t.equal(JSON.stringify(withoutNulls(type, JSON.parse(JSON.stringify(text)))), JSON.stringify(back), 'and back');
    t.equal(JSON.stringify(memory), before, 'nothing was changed in place');
  });
}

t.test('parts without nulls are shared', async (t) => {
  const type = scheme.type('core.v1.Pod');
  const spec = { containers: [{ name: 'c' }], volumes: [{ name: 'v', emptyDir: {} }] };
  const pod = { metadata: { creationTimestamp: time }, spec };
  t.equal(withNulls(type, pod), pod);
  t.equal(withoutNulls(type, pod), pod);
  const pending = { ...pod, status: { conditions: [{ type: 'Ready' }] } };
  t.equal(withNulls(type, pending).spec, spec);
  const { ownOf, inside } = nullsOf(type);
  t.equal(ownOf(pod), pod);
  t.equal(inside('spec', spec), spec);
  t.same(inside('status', pending.status), withNulls(type, pending).status);
  t.equal(inside('other', spec), spec);
});

t.test('untyped data stay unchanged', async (t) => {
  const revision = { metadata: { creationTimestamp: time }, data: { a: null, metadata: {} }, revision: 1 };
  t.equal(withNulls(scheme.type('apps.v1.ControllerRevision'), revision), revision);
  t.equal(withoutNulls(scheme.type('apps.v1.ControllerRevision'), revision), revision);
  const hostile = JSON.parse('{"__proto__":{"x":1},"lastProbeTime":null,"type":"A"}') as Record<string, unknown>;
  const condition = withoutNulls(scheme.type('core.v1.PodCondition'), hostile);
  t.same([Object.keys(condition), condition['x']], [['type'], undefined]);
});

t.test('messages in maps have no nulls', async (t) => {
  for (const name of scheme.typeNames()) for (const inner of inMaps(scheme.type(name))) t.notOk(hasNulls(inner), name);
});

function inMaps({ fields }: TypeInfo): TypeInfo[] {
  return fields.flatMap(({ container, type }) => (container === 'map' && type !== undefined ? [type] : []));
}
