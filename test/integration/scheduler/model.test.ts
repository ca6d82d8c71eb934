/** The model of random histories detects violations: planted ones, and those of a scheduler without a filter. */
import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { profileOf } from '#scheduler/plugins/profiles.js';
import { cluster } from '#test/integration/scheduler/cluster.js';
import { Model } from '#test/integration/scheduler/model.js';

const allocatable = { cpu: '2', memory: '1Gi', pods: '3' };
const node = (name: string, spec: Node['spec'] = {}): Node => ({
  kind: 'Node',
  metadata: { name, uid: `node ${name}` },
  spec,
  status: { allocatable },
});

interface Fields {
  readonly on?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly hostPort?: number;
  readonly apart?: boolean;
  readonly priority?: number;
  readonly polite?: boolean;
  readonly leaving?: boolean;
}

function pod(name: string, { apart, cpu = '0', hostPort, leaving, memory = '0Mi', on, polite, priority }: Fields): Pod {
  const labelSelector = { matchLabels: { app: 'x' } };
  const term = { topologyKey: 'host', labelSelector };
  const ports = hostPort === undefined ? [] : [{ containerPort: 80, hostPort }];
  return {
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      labels: { app: 'x' },
      ...(leaving === true ? { deletionTimestamp: '2022-05-03T00:00:00Z' } : {}),
    },
    spec: {
      containers: [{ name: 'c', resources: { requests: { cpu, memory } }, ports }],
      priority: priority ?? 0,
      ...(on === undefined ? {} : { nodeName: on }),
      ...(polite === true ? { preemptionPolicy: 'Never' } : {}),
      ...(apart === true
        ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
        : {}),
    },
  };
}

/** The findings in a history; `gone`: the object is deleted. */
function judged(...history: (Node | Pod | { readonly gone: Node | Pod })[]): string[] {
  const model = new Model();
  for (const [i, each] of history.entries()) {
    const type = 'gone' in each ? 'DELETED' : 'ADDED';
    const { metadata, ...rest } = 'gone' in each ? each.gone : each;
    model.apply({ type, object: { ...rest, metadata: { ...metadata, resourceVersion: String(i + 1) } } });
  }
  return [...model.findings, ...model.waitingThoughTheyFit().map((name) => `${name} waits`)];
}

const [n, m] = [node('n'), node('m')];
const full = pod('a', { on: 'n', cpu: '2' });
const rows: [what: string, findings: string[], want: RegExp | undefined][] = [
  ['nothing', judged(n, pod('a', { on: 'n', cpu: '1' }), pod('b', { on: 'n', cpu: '1' })), undefined],
  ['too much CPU', judged(n, full, pod('b', { on: 'n', cpu: '1m' })), /b on n: 2001m of 2 CPU/],
  ['too much memory', judged(n, pod('a', { on: 'n', memory: '2Gi' })), /a on n: 2048Mi of 1Gi memory/],
  ['too many pods', judged(n, ...'abcd'.split('').map((name) => pod(name, { on: 'n' }))), /4 pods of 3/],
  [
    'a port twice',
    judged(n, pod('a', { on: 'n', hostPort: 80 }), pod('b', { on: 'n', hostPort: 80 })),
    /host ports 80, 80/,
  ],
  ['pods that keep apart', judged(n, pod('a', { on: 'n', apart: true }), pod('b', { on: 'n' })), /2 pods of x/],
  ['a node that never was', judged(pod('a', { on: 'z' })), /no such node/],
  ['bound twice', judged(n, m, pod('a', { on: 'n' }), pod('a', { on: 'm' })), /a: bound to n, then to m/],
  [
    'bound before the victim is deleted',
    judged(
      n,
      pod('b', { cpu: '1', priority: 1 }),
      pod('a', { on: 'n', cpu: '2', leaving: true }),
      pod('b', { on: 'n', cpu: '1', priority: 1 }),
    ),
    /3000m/,
  ],
  [
    'bound after the victim is deleted',
    judged(n, pod('b', { cpu: '1', priority: 1 }), full, { gone: full }, pod('b', { on: 'n', cpu: '1', priority: 1 })),
    undefined,
  ],
  ['the most important is evicted', judged(n, full, pod('a', { on: 'n', cpu: '2', leaving: true })), /a: evicted/],
  ['waits though it fits', judged(n, pod('a', { cpu: '1' })), /^a waits$/],
  ['waits for room', judged(n, full, pod('b', { cpu: '1' })), undefined],
  ['waits though others could go', judged(n, full, pod('b', { cpu: '1', priority: 1 })), /^b waits$/],
  ['waits and evicts no pod', judged(n, full, pod('b', { cpu: '1', priority: 1, polite: true })), undefined],
  ['waits for a node that is cordoned', judged(node('n', { unschedulable: true }), pod('a', {})), undefined],
];
t.test('detects planted violations', (t) => {
  for (const [what, findings, want] of rows) {
    t.equal(findings.length, want === undefined ? 0 : 1, `${what}: ${findings.join()}`);
    if (want !== undefined) t.match(findings[0], want);
  }
  t.end();
});

t.test('detects a scheduler that ignores resources', async (t) => {
  const sets = { multiPoint: { enabled: [], disabled: ['NodeResourcesFit'] } };
  const { defaultScheduler } = dialect.components;
  const c = await cluster(t, { profiles: [profileOf({ schedulerName: defaultScheduler, sets, args: {} }, dialect)] });
  await c.node('n');
  const model = new Model();
  for (const object of (await c.client.resource(nodes).list({})).items) model.apply({ type: 'ADDED', object });
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '1500m' } } }];
  for (const name of ['a', 'b']) {
    await c.pod(name, { containers });
    model.apply({ type: 'MODIFIED', object: await c.when(name, ({ spec }) => spec.nodeName === 'n') });
  }
  t.match(model.findings, [/b on n: 3000m of 2 CPU/]);
});
