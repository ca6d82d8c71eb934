/** Rows of writes: creates, statuses and patches of pods. */
import { apis, compare, concurrency, type Field, load } from '#test/bench/access/field.js';
import {
  ask,
  ownPodBody,
  podBody,
  podName,
  podPath,
  scratchPath,
  touchAll,
  type Way,
  wayText,
} from '#test/bench/access/pods.js';
import { costFigures, type RowLimits } from '#test/bench/access/report.js';
import { costPerOperation } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';

const operations = 1000;
/** V8 compiles the code of status updates through the first 12,000 of them. */
const updateWarmUpRounds = 24;

export async function createRow(field: Field, over: readonly Way[]): Promise<number> {
  await load(field, 'pod', podPath(0));
  const create = (way: Way, what: string, body: (n: number) => string, limits: RowLimits) => {
    const key = (n: number) => `new/${what === '' ? 'alike' : 'own'}/${way}/${n}`;
    const bare = (n: number) => ask(field.bare, 'POST', `/create/pod?key=${key(n)}`, { body: body(n), way });
    return compare(field, `create${what}${wayText(way)}`, limits, {
      bare: { operations, concurrency, operation: bare },
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'POST', scratchPath, { body: body(n), way }),
        tidy: () => ask(server, 'DELETE', scratchPath),
      }),
    });
  };
  const figures: number[] = [];
  for (const way of over) {
    const alike = (n: number) => podBody(podName(n), n, 'scratch');
    figures.push(await create(way, '', alike, { bare: 2.5, peer: 0.33 }));
    await create(way, ', each pod different', (n) => ownPodBody(n, 'scratch'), { bare: 2.5, peer: 0.3 });
  }
  return figures[0] ?? Number.NaN;
}

export interface PodObject {
  metadata: Record<string, unknown>;
  status: object;
}

export const changedStatus = (status: object, n: number) => ({
  ...status,
  conditions: [{ type: 'Ready', status: 'False', reason: 'Bench', message: `round ${n}` }],
});

export async function updateRows(quick: Field, over: readonly Way[]): Promise<void> {
  const field = { ...quick, warmUpRounds: updateWarmUpRounds };
  await load(field, 'pod', podPath(0));
  const { body } = await ask(field.orch, 'GET', podPath(0));
  const pod = JSON.parse(body.toString()) as PodObject;
  const statusBody = (n: number) => {
    const name = podName(n % field.pods);
    const { resourceVersion: _version, uid: _uid, creationTimestamp: _created, ...metadata } = pod.metadata;
    return JSON.stringify({ ...pod, metadata: { ...metadata, name }, status: changedStatus(pod.status, n) });
  };
  const put = (n: number, body: string, way: Way) =>
    ask(field.bare, 'PUT', `/update/pod?key=old/${n % field.pods}`, { body, way });
  const limits = { bare: 3, peer: 0.2 };
  const patchBody = (n: number) => JSON.stringify({ metadata: { annotations: { 'example.com/round': String(n) } } });
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  for (const way of over) {
    const path = (n: number) => podPath(n % field.pods);
    await compare(field, `status, PUT${wayText(way)}`, limits, {
      bare: { operations, concurrency, operation: (n) => put(n, statusBody(n), way) },
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'PUT', `${path(n)}/status`, { body: statusBody(n), way }),
      }),
    });
    await compare(field, `strategic merge patch${wayText(way)}`, limits, {
      bare: { operations, concurrency, operation: (n) => put(n, patchBody(n), way) },
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'PATCH', path(n), { body: patchBody(n), headers, way }),
      }),
    });
    await compare(field, `status, GET and PUT${wayText(way)}`, limits, {
      bare: {
        operations,
        concurrency,
        operation: async (n) => {
          await ask(field.bare, 'GET', '/ready/pod', { way });
          await put(n, statusBody(n), way);
        },
      },
      api: (server) => ({ operations, concurrency, operation: (n) => updateStatus(server, n, field.pods, way) }),
    });
  }
}

/** Like a node agent: reads the pod and writes it with another status and the same version. */
async function updateStatus(server: RunningServer, n: number, pods: number, way: Way): Promise<void> {
  const path = podPath(n % pods);
  const { body } = await ask(server, 'GET', path, { way });
  const pod = JSON.parse(body.toString()) as PodObject;
  const changed = JSON.stringify({ ...pod, status: changedStatus(pod.status, n) });
  await ask(server, 'PUT', `${path}/status`, { body: changed, way });
}

const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const leases = 100;

/** Like node agents that renew leases: writes the version of the last response with another time. */
export async function leaseRow(field: Field): Promise<void> {
  const versions = new Map<RunningServer, string[]>();
  const write = async (server: RunningServer, method: 'POST' | 'PUT', n: number) => {
    const i = n % leases;
    const serverVersions = versions.get(server) ?? [];
    versions.set(server, serverVersions);
    const renewTime = new Date(1_600_000_000_000 + n).toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: `node-${i}`, leaseDurationSeconds: 40, renewTime };
    const version = serverVersions[i];
    const metadata = { name: `lease-${i}`, ...(version !== undefined && { resourceVersion: version }) };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const path = method === 'POST' ? leasesPath : `${leasesPath}/lease-${i}`;
    const { body } = await ask(server, method, path, { body: JSON.stringify(lease) });
    serverVersions[i] = (
      JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }
    ).metadata.resourceVersion;
  };
  for (const server of apis(field)) for (let i = 0; i < leases; i++) await write(server, 'POST', i);
  await compare(
    field,
    'lease, PUT',
    {},
    { api: (server) => ({ operations, concurrency, operation: (n) => write(server, 'PUT', n) }) },
  );
}

/** Cost of a change by another writer without watchers. */
export async function followRow(field: Field): Promise<void> {
  const works = apis(field).map((server) => ({ server, operations: 1, operation: () => touchAll(server) }));
  const { costs, ...rounds } = await costPerOperation(works, field);
  const each = costs.map(({ server, etcd }) => ({ server: server / field.pods, etcd: etcd / field.pods }));
  const figures = costFigures({ costs: each }, field.peer !== undefined);
  field.report.add({ name: 'one change of etcd followed', unit: 'ms', ...figures, limits: {}, rounds });
}
