/**
 * The cost of requests for pods without connections and etcd: a complete server over a store in memory, called through its
 * handler. CPU time per request, the minimum of many batches, because disturbances only add time.
 *
 * `hack/bench.sh requests [--only create,status] [--batches 60]`
 */
import { parseArgs } from 'node:util';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { ServerRequest, Shares } from '#http/server/server-request.js';
import { podBody, podName, podPath, podsPath, scratchPath } from '#test/bench/access/pods.js';
import { figure, machineLine } from '#test/bench/report.js';
import { startApi } from '#test/integration/daemons/api.js';

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, batches: { type: 'string', default: '60' } },
});
const only = values.only.split(',').filter((name) => name !== '');
const batches = Number(values.batches);
const batch = 200;
const pods = 400;

const teardowns: (() => Promise<unknown> | unknown)[] = [];
const { api } = await startApi(
  { teardown: (end: () => Promise<unknown> | unknown) => teardowns.push(end) },
  { dialect: kubernetesDialect, mode: 'Node,RBAC' },
);
const shares = { requests: new Shares(1000), bodyBytes: new Shares(1000) };
/** The client's connection. */
const peer = { address: '127.0.0.1', certificate: undefined };

interface Ask {
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  readonly type?: string;
}

async function ask({ method, url, body = '', type = 'application/json' }: Ask): Promise<Buffer> {
  const bytes = Buffer.from(body);
  const request = new ServerRequest({
    method,
    url,
    headers: {
      authorization: 'Bearer root',
      'content-type': type,
      'user-agent': 'bench/1.0 (linux/amd64)',
      accept: 'application/json',
    },
    rawHeaders: [],
    peer,
    gone: new LazyAbort(),
    shares,
    readBody: bytes.length === 0 ? undefined : async () => bytes,
    openBody: undefined,
  });
  const { status, body: answer } = await api.handler(request);
  request.release();
  if (status >= 300) throw new Error(`${method} ${url}: ${status} ${String(answer)}`);
  return Buffer.isBuffer(answer) ? answer : Buffer.alloc(0);
}

await ask({ method: 'POST', url: '/api/v1/namespaces', body: JSON.stringify({ metadata: { name: 'scratch' } }) });
for (const namespace of ['default', 'scratch']) {
  await ask({
    method: 'POST',
    url: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    body: JSON.stringify({ metadata: { name: 'web' }, automountServiceAccountToken: false }),
  });
}
for (let n = 0; n < pods; n++) await ask({ method: 'POST', url: podsPath, body: podBody(podName(n), n) });
const pod = JSON.parse((await ask({ method: 'GET', url: podPath(0) })).toString()) as {
  metadata: Record<string, unknown>;
  status: object;
};
const path = (n: number) => podPath(n % pods);
const condition = (n: number) => ({ type: 'Ready', status: 'False', reason: 'Bench', message: `round ${n}` });

function statusBody(n: number): string {
  const { resourceVersion: _version, uid: _uid, creationTimestamp: _created, ...metadata } = pod.metadata;
  const status = { ...pod.status, conditions: [condition(n)] };
  return JSON.stringify({ ...pod, metadata: { ...metadata, name: podName(n % pods) }, status });
}

const merge = 'application/strategic-merge-patch+json';
const annotated = (n: number) => ({ metadata: { annotations: { 'example.com/round': String(n) } } });
const applied = (n: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: podName(n % pods), annotations: { 'example.com/applied': String(n) } },
});

const requests: Readonly<Record<string, (n: number) => Ask>> = {
  create: (n) => ({ method: 'POST', url: scratchPath, body: podBody(podName(n), n, 'scratch') }),
  get: (n) => ({ method: 'GET', url: path(n) }),
  status: (n) => ({ method: 'PUT', url: `${path(n)}/status`, body: statusBody(n) }),
  patch: (n) => ({ method: 'PATCH', url: path(n), body: JSON.stringify(annotated(n)), type: merge }),
  'patch of status': (n) => ({
    method: 'PATCH',
    url: `${path(n)}/status`,
    body: JSON.stringify({ status: { conditions: [condition(n)] } }),
    type: merge,
  }),
  apply: (n) => ({
    method: 'PATCH',
    url: `${path(n)}?fieldManager=applier&force=true`,
    body: JSON.stringify(applied(n)),
    type: 'application/apply-patch+yaml',
  }),
};

process.stdout.write(`${machineLine()}\n`);
for (const [name, request] of Object.entries(requests)) {
  if (only.length > 0 && !only.includes(name)) continue;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < batches; i++) {
    const asks = Array.from({ length: batch }, (_, n) => request(i * batch + n));
    const { user: from, system } = process.cpuUsage();
    await Promise.all(asks.map(ask));
    const after = process.cpuUsage();
    least = Math.min(least, (after.user - from + after.system - system) / batch);
    if (name === 'create' && i % 10 === 9) await ask({ method: 'DELETE', url: scratchPath });
  }
  figure(name, `${least.toFixed(0)} µs`);
}
for (const end of teardowns.reverse()) await end();
