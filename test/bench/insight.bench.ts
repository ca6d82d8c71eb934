/**
 * Time of an answer of the API that answers why, for each kind, in a cluster of many pods: healthy teams, a large namespace, and a
 * stuck object of each sort in it. The first question after the start is apart: its objects are read for the first time.
 *
 * `hack/bench.sh insight [--pods 50000] [--rounds 20] [--rest 10000]` (milliseconds between the start and the first question)
 */
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { healthyCluster } from '#insight/testing/healthy-cluster.js';
import { event, pod } from '#insight/testing/objects.js';
import { encodeStored } from '#storage/layout.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { benchPod } from '#test/bench/pod.js';
import { figure, machineLine } from '#test/bench/report.js';
import { serverForUsers } from '#test/integration/apiserver/server-for-users.js';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '20' },
    rest: { type: 'string', default: '10000' },
  },
});
const podCount = Number(values.pods);
const rounds = Number(values.rounds);
const limitMs = '100';

const plurals: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  IngressClass: 'ingressclasses',
  NetworkPolicy: 'networkpolicies',
  StorageClass: 'storageclasses',
};
const plural = (kind: string) => plurals[kind] ?? `${kind.toLowerCase()}s`;

const store = new MemoryStore({ clock: realClock });
async function put(object: StoredObject): Promise<void> {
  const { namespace = '', name = '' } = object.metadata;
  const key = `/registry/${plural(object.kind ?? '')}/${namespace === '' ? '' : `${namespace}/`}${name}`;
  await store.create(key, encodeStored(object as Parameters<typeof encodeStored>[0]));
}

/** Without an address, which the server would check against its range. */
function headless(object: StoredObject): StoredObject {
  const { spec, ...others } = object as StoredObject & { readonly spec: object };
  const result: StoredObject & { readonly spec: object } = {
    ...others,
    spec: { ...spec, clusterIP: 'None', type: 'ClusterIP' },
  };
  return result;
}

process.stdout.write(`${machineLine()}\n`);
/** Prepared objects of these kinds lack what the server itself reads of them. */
const unserved = [
  'Widget',
  'APIService',
  'CustomResourceDefinition',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
];
const healthy = healthyCluster(20).filter(({ kind = '' }) => !unserved.includes(kind));
for (const object of healthy) await put(object.kind === 'Service' ? headless(object) : object);
const large = 'large';
for (let i = 0; i < podCount; i++) {
  const plain = benchPod(`web-${i}`);
  // Half of the pods are in one namespace, with a hundred applications.
  const namespace = i % 2 === 0 ? large : `team-${i % 20}`;
  const labels = { app: `app-${i % 100}`, 'pod-template-hash': '6d4cf56db6' };
  const ready = [{ type: 'Ready', status: 'True' }];
  await put({
    ...plain,
    metadata: { ...plain.metadata, namespace, labels, uid: `uid-${i}` },
    spec: { ...plain.spec, nodeName: `node-${i % 500}` },
    status: { phase: 'Running', conditions: ready },
  } as StoredObject);
  if (i % 5 === 0) await put({ ...event(plain, 'Pulled', 'pulled'), metadata: { name: `web-${i}.17f`, namespace } });
}
const object = (kind: string, name: string, fields: object): StoredObject => {
  const whole: StoredObject & object = {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: large, uid: `uid-${name}` },
    ...fields,
  };
  return whole;
};
const stuck: readonly StoredObject[] = [
  object('Service', 'no-pods', { spec: { selector: { app: 'none' }, ports: [{ port: 80 }] } }),
  object('Service', 'fine', { spec: { selector: { app: 'app-2' }, ports: [{ port: 80, targetPort: 'http' }] } }),
  object('PersistentVolumeClaim', 'lonely', { spec: { storageClassName: 'gone' }, status: { phase: 'Pending' } }),
  pod({ name: 'unplaced', node: '', metadata: { namespace: large } }),
];
for (const each of stuck) await put(each.kind === 'Service' ? headless(each) : each);

const tasks: (() => void | Promise<void>)[] = [];
const as = await serverForUsers(
  { teardown: (task: () => void | Promise<void>) => tasks.unshift(task) },
  dialect,
  [],
  store,
);
const { masters, authenticated } = dialect.groups;
const admin = as('admin', masters, authenticated);
const path = `/apis/${dialect.insight.apiVersion}/whys`;

async function ask(kind: string, { metadata: { namespace, name } }: StoredObject): Promise<number> {
  const subject = { kind, ...(namespace === undefined ? {} : { namespace }), name };
  const started = performance.now();
  const { status, body } = await admin.send('POST', path, { body: { spec: { subject } } });
  const ms = performance.now() - started;
  if (status !== 201) throw new Error(`${kind} ${name}: ${JSON.stringify(body)}`);
  return ms;
}

const subjects = new Map<string, StoredObject[]>();
for (const each of [...healthy, ...stuck]) {
  const name = stuck.includes(each) ? `${each.kind} ${each.metadata.name}` : (each.kind ?? '');
  subjects.set(name, [...(subjects.get(name) ?? []), each]);
}
const node: StoredObject = { kind: 'Node', metadata: { name: 'n1' } };
await admin.send('PATCH', '/api/v1/nodes/n1', {
  body: { spec: { unschedulable: true } },
  contentType: 'application/merge-patch+json',
});
subjects.set('Node n1, cordoned', [node]);
// The server prepares for questions some seconds after its start.
await realClock.sleep(Number(values.rest));
const percent = (times: readonly number[], part: number) =>
  times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
for (const [name, objects] of subjects) {
  const [kind = ''] = name.split(/[ ,]/);
  const first = await ask(kind, objects[0] as StoredObject);
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) times.push(await ask(kind, objects[i % objects.length] as StoredObject));
  times.sort((a, b) => a - b);
  figure(`${name}: first`, `${first.toFixed(1)} ms`, limitMs);
  figure(`${name}: median, p99`, `${percent(times, 0.5).toFixed(1)}, ${percent(times, 0.99).toFixed(1)} ms`, limitMs);
}
await admin.close();
for (const task of tasks) await task();
