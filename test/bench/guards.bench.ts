/**
 * What the guards of a request cost: authentication, authorization by 1,000 bindings, admission without webhooks, audit at the
 * level Metadata, and flow control. CPU time per request of complete servers over a store in memory, each with one guard more
 * than the bare one; the minimum of many batches, taken in turns, because disturbances only add time.
 *
 * `hack/bench.sh guards [--batches 60]`
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { auditVersion } from '#apiserver/audit/event.js';
import { ServerRequest, Shares } from '#http/server/server-request.js';
import { podBody, podName, podPath, podsPath, scratchPath } from '#test/bench/access/pods.js';
import { figure, machineLine } from '#test/bench/report.js';
import { type DaemonTest, startApi } from '#test/integration/daemons/api.js';

const { values } = parseArgs({ options: { batches: { type: 'string', default: '60' } } });
const batches = Number(values.batches);
const batch = 200;
const bindings = 1000;
/** µs, of all guards together and of flow control. */
const limits = { get: 80, create: 150, flowControl: 15 };

const folder = await mkdtemp(join(tmpdir(), 'guards-'));
const teardowns: (() => Promise<unknown> | unknown)[] = [() => rm(folder, { recursive: true })];
const file = async (name: string, text: string) => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};
const policy = await file(
  'policy.json',
  JSON.stringify({ apiVersion: auditVersion(dialect), kind: 'Policy', rules: [{ level: 'Metadata' }] }),
);
// These plugins need no object beside the one that is written.
const plugins = [
  ...['NamespaceLifecycle', 'LimitRanger', 'ServiceAccount', 'TaintNodesByCondition', 'PodSecurity', 'Priority'],
  ...['DefaultTolerationSeconds', 'DefaultStorageClass', 'StorageObjectInUseProtection', 'PersistentVolumeClaimResize'],
  ...['RuntimeClass', 'CertificateApproval', 'CertificateSigning', 'CertificateSubjectRestriction'],
  ...['DefaultIngressClass', 'MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook', 'ResourceQuota'],
];

interface Guards {
  readonly mode?: string;
  readonly isAdmitting?: boolean;
  readonly isAudited?: boolean;
  readonly isFlowControlled?: boolean;
}

const variants: Readonly<Record<string, Guards>> = {
  bare: {},
  authorization: { mode: 'Node,RBAC' },
  admission: { isAdmitting: true },
  audit: { isAudited: true },
  'flow control': { isFlowControlled: true },
  all: { mode: 'Node,RBAC', isAdmitting: true, isAudited: true, isFlowControlled: true },
};

interface Server {
  readonly name: string;
  readonly test: DaemonTest;
  readonly least: { get: number; create: number };
}

async function start(name: string, guards: Guards): Promise<Server> {
  const { mode = 'AlwaysAllow', isAdmitting = false, isAudited = false, isFlowControlled = false } = guards;
  const test = await startApi(
    { teardown: (end: () => Promise<unknown> | unknown) => teardowns.push(end) },
    {
      dialect,
      mode,
      args: [
        `--enable-priority-and-fairness=${isFlowControlled}`,
        ...(isAdmitting ? [] : [`--disable-admission-plugins=${plugins.join(',')}`]),
        ...(isAudited
          ? [
              `--audit-policy-file=${policy}`,
              `--audit-log-path=${join(folder, `${name}.log`)}`,
              '--audit-log-mode=batch',
            ]
          : []),
      ],
    },
  );
  const server = { name, test, least: { get: Number.POSITIVE_INFINITY, create: Number.POSITIVE_INFINITY } };
  await ask(server, 'root', 'POST', '/api/v1/namespaces', { metadata: { name: 'scratch' } });
  if (mode !== 'AlwaysAllow') await bind(test);
  for (const namespace of ['default', 'scratch']) {
    await ask(server, 'root', 'POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      metadata: { name: 'web' },
      automountServiceAccountToken: false,
    });
  }
  await ask(server, 'root', 'POST', podsPath, podBody(podName(0), 0));
  return server;
}

/** Half of the bindings are in the namespace of the requests; the last one there allows them. */
async function bind({ client }: DaemonTest): Promise<void> {
  const apiGroup = dialect.groupName('rbac');
  for (const namespace of ['default', 'scratch']) {
    await client.resource(roles).create(
      {
        metadata: { name: 'pods' },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'deletecollection'] }],
      },
      { namespace },
    );
    for (let n = 0; n < bindings / 2; n++) {
      await client.resource(rolebindings).create(
        {
          metadata: { name: `binding-${n}` },
          roleRef: { apiGroup, kind: 'Role', name: 'pods' },
          subjects: [
            { apiGroup, kind: 'User', name: n === bindings / 2 - 1 ? dialect.users.controllerManager : `u-${n}` },
          ],
        },
        { namespace },
      );
    }
  }
}

const shares = { requests: new Shares(1000), bodyBytes: new Shares(1000) };
const peer = { address: '127.0.0.1', certificate: undefined };

async function ask(
  { name, test }: Pick<Server, 'name' | 'test'>,
  token: string,
  method: string,
  url: string,
  body?: object | string,
): Promise<void> {
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const request = new ServerRequest({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'user-agent': 'bench/1.0 (linux/amd64)',
      accept: 'application/json',
    },
    rawHeaders: [],
    peer,
    gone: new LazyAbort(),
    shares,
    readBody: bytes === undefined ? undefined : async () => bytes,
    openBody: undefined,
  });
  const { status, body: answer } = await test.api.handler(request);
  request.release();
  if (status >= 300) throw new Error(`${name}: ${method} ${url}: ${status} ${String(answer)}`);
}

async function measure(send: (n: number) => Promise<void>, from: number): Promise<number> {
  const { user, system } = process.cpuUsage();
  await Promise.all(Array.from({ length: batch }, (_, n) => send(from + n)));
  const after = process.cpuUsage();
  return (after.user - user + after.system - system) / batch;
}

process.stdout.write(`${machineLine()}\n`);
const servers: Server[] = [];
for (const [name, guards] of Object.entries(variants)) servers.push(await start(name, guards));
for (let i = 0; i < batches; i++) {
  for (const server of servers) {
    const get = await measure(() => ask(server, 'manager', 'GET', podPath(0)), 0);
    const create = await measure(
      (n) => ask(server, 'manager', 'POST', scratchPath, podBody(podName(n), n, 'scratch')),
      i * batch,
    );
    server.least.get = Math.min(server.least.get, get);
    server.least.create = Math.min(server.least.create, create);
    if (i % 10 === 9) await ask(server, 'manager', 'DELETE', scratchPath);
  }
}
const [bare] = servers;
if (bare === undefined) throw new Error('no server');
for (const { name, least } of servers) {
  for (const verb of ['get', 'create'] as const) {
    const more = least[verb] - bare.least[verb];
    const limit =
      name === 'all' ? limits[verb] : name === 'flow control' && verb === 'get' ? limits.flowControl : undefined;
    const value = name === 'bare' ? `${least[verb].toFixed(1)} µs` : `${more < 0 ? '' : '+'}${more.toFixed(1)} µs`;
    figure(`${verb}, ${name}`, value, limit === undefined ? undefined : `${limit} µs`);
  }
}
for (const end of teardowns.reverse()) await end();
