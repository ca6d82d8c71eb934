/**
 * Third-party API servers, written with the library of release 1.24, behind the aggregator of an unmodified cluster:
 * the sample API server and the metrics server, as `hack/build-extensions.sh` builds them. `EXTENSIONS` names their folder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { hostAddresses } from '#cluster/machine/network.js';
import { eventually, kubectls, Running, type RunResult, run, startTestCluster, tools } from '#test/e2e/harness.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';

t.setTimeout(600_000);

const folder = process.env['EXTENSIONS'] ?? join(tools, 'extensions');
const kubectl = (await kubectls()).at(-1);
/** Address of this machine for Service endpoints, which must not be loopback. */
const address = hostAddresses()[0] ?? '';

function whyNot(program: string): string | false {
  if (kubectl === undefined) return 'kubectl is missing';
  if (address === '') return 'this machine has no address beside its loopback';
  return !existsSync(join(folder, program)) && `${program} is missing: hack/build-extensions.sh builds it`;
}

const noServers = ['sample-apiserver', 'metrics-server'].every((program) => whyNot(program) !== false);
const cluster = noServers ? undefined : await startTestCluster({ dialect: 'kubernetes' });
t.teardown(() => cluster?.destroy());
const config = cluster?.config ?? '';

function ask(...args: readonly string[]): Promise<RunResult> {
  return run(kubectl ?? '', args, { env: { KUBECONFIG: config } });
}

async function apply(t: Test, ...items: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { code, stderr } = await run(kubectl ?? '', ['apply', '-f', '-'], { env: { KUBECONFIG: config }, input });
  t.equal(code, 0, 'objects are applied', { stderr });
}

/** Runs a server, and registers it for a group and version. Resolves when the aggregator finds it available. */
async function register(
  t: Test,
  server: {
    name: string;
    namespace: string;
    group: string;
    version: string;
    args: (port: number) => readonly string[];
  },
): Promise<Running> {
  const { name, namespace, group, version } = server;
  const port = await freePort();
  const clients = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
    (o) => `--${o}=${config}`,
  );
  const own = [`--secure-port=${port}`, `--bind-address=${address}`, `--cert-dir=${join(t.testdir(), name)}`];
  const running = new Running(join(folder, name), [...clients, ...own, ...server.args(port)], {});
  t.teardown(() => running.stop());
  const metadata = { name, namespace };
  await apply(
    t,
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 443, targetPort: port }] } },
    { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [{ addresses: [{ ip: address }], ports: [{ port }] }] },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        service: { name, namespace },
        ...{ group, version, insecureSkipTLSVerify: true, groupPriorityMinimum: 1000, versionPriority: 15 },
      },
    },
  );
  const available = await ask('wait', '--for=condition=Available', `apiservice/${version}.${group}`, '--timeout=100s');
  t.equal(available.code, 0, `${name} is available`, { stderr: available.stderr, log: running.stderr.slice(-4000) });
  return running;
}

t.test('the sample API server', { skip: whyNot('sample-apiserver') }, async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const group = 'wardle.example.com';
  const args = () => [`--etcd-servers=${etcd.endpoint}`];
  const namespaces = ['wardle', 'meadow'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await apply(t, ...namespaces);
  const server = { name: 'sample-apiserver', namespace: 'wardle', group, version: 'v1alpha1', args };
  const running = await register(t, server);
  const flunder = {
    apiVersion: `${group}/v1alpha1`,
    kind: 'Flunder',
    metadata: { name: 'first', namespace: 'meadow' },
  };
  await apply(t, flunder);
  t.equal((await ask('get', 'flunders', '-n', 'meadow', '-o', 'name')).stdout, `flunder.${group}/first\n`);
  t.equal((await ask('label', 'flunder', 'first', '-n', 'meadow', 'a=b')).code, 0);
  // The user arrives there, and is authorized here.
  const user = ['--as', 'alice', '--as-group', 'readers', '-n', 'meadow'];
  const refused = await ask('get', 'flunders', ...user);
  t.match(refused.stderr, `User "alice" cannot list resource "flunders" in API group "${group}"`);
  await ask('create', 'clusterrole', 'flunders', '--verb=list', `--resource=flunders.${group}`);
  await ask('create', 'rolebinding', 'flunders', '-n', 'meadow', '--clusterrole=flunders', '--group=readers');
  const allowed = await eventually('the group may list', async () => {
    const { code, stdout } = await ask('get', 'flunders', '-o', 'name', ...user);
    return code === 0 && stdout;
  });
  t.equal(allowed, `flunder.${group}/first\n`);
  // Its namespace ends with what is in it, which the controller manager finds through the aggregator.
  const gone = await ask('delete', 'namespace', 'meadow', '--timeout=100s');
  const left = gone.code === 0 ? '' : (await ask('get', 'namespace', 'meadow', '-o', 'yaml')).stdout;
  t.equal(gone.code, 0, 'the namespace ends', { stderr: gone.stderr, left, log: running.stderr.slice(-4000) });
});

t.test('the metrics server', { skip: whyNot('metrics-server') }, async (t) => {
  const group = 'metrics.k8s.io';
  const args = () => [
    '--kubelet-insecure-tls',
    '--kubelet-preferred-address-types=InternalIP',
    '--metric-resolution=10s',
  ];
  const server = { name: 'metrics-server', namespace: 'kube-system', group, version: 'v1beta1', args };
  const running = await register(t, server);
  // The server treats zero usage of a node without containers as missing figures.
  const spec = { containers: [{ name: 'main', image: 'example.com/busy:1' }] };
  await apply(t, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'busy', namespace: 'default' }, spec });
  let last: RunResult | undefined;
  const top = await eventually(
    'the pod has figures',
    async () => {
      last = await ask('top', 'pods', '-n', 'default', '--no-headers');
      return last.code === 0 && last.stdout;
    },
    120_000,
  ).catch((error: unknown) => t.fail(String(error), { last, log: running.stderr.slice(-4000) }));
  t.match(top, /^busy +\d+m/);
});
