/** Each part of a cluster can be off, and then another program does its work. */
import { join } from 'node:path';
import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { removeRules } from '#proxy/backend.js';
import { runWithInput } from '#proxy/program/run-program.js';
import {
  eventually,
  ownRanges,
  Running,
  rangeArguments,
  root,
  run,
  startTestCluster,
  whyNoServices,
} from '#test/e2e/harness.js';

t.setTimeout(240_000);

const skip = whyNoServices() ?? false;
/** Of a name server of somebody else. */
const nameServer = '192.0.2.53';

const manifest = `
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: 'orch/web:1.0', ports: [{ containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Mi } } }
`;

t.test('without what comes with it', { skip }, async (t) => {
  const ranges = await ownRanges();
  const cluster = await startTestCluster({
    runtime: 'containerd',
    store: 'memory',
    args: [
      ...rangeArguments(ranges),
      '--service-proxy=none',
      `--cluster-dns=${nameServer}`,
      '--local-storage=false',
      '--ingress=none',
    ],
  });
  t.teardown(() => cluster.destroy());
  const get = async <T>(...what: string[]) => JSON.parse((await cluster.ctl('get', ...what, '-o', 'json')).stdout) as T;
  const applied = await cluster.client(join(root, 'bin', 'orchctl'), ['apply', '-f', '-'], { input: manifest });
  t.equal(applied.code, 0, applied.stderr);
  const pod = await eventually('the pod is ready', async () => {
    const found = await get<Pod>('pod', 'web');
    return found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && found;
  });
  const inside = async (...command: string[]) => (await cluster.ctl('exec', 'web', '--', ...command)).stdout;
  const address = (await get<Service>('service', 'web')).spec?.clusterIP ?? '';
  const fetch = () => inside('timeout', '2', 'wget', '-q', '-O-', `http://${address}/`);

  t.match(
    await inside('cat', '/etc/resolv.conf'),
    new RegExp(`^nameserver ${nameServer}$`, 'm'),
    'pods ask the other name server',
  );
  for (const kind of ['storageclasses', 'csidrivers', 'ingressclasses', 'persistentvolumes'])
    t.same((await get<{ items: object[] }>(kind)).items, [], `no ${kind}`);
  t.match(await get('persistentvolumeclaim', 'data'), { status: { phase: 'Pending' } });
  t.match(await inside('wget', '-q', '-O-', `http://${pod.status?.podIP}:8080/`), 'Hello from web');
  t.equal(await fetch(), '', 'the address of the service leads nowhere');

  await t.test('another program leads it to the pod', async (t) => {
    const table = `oe2e-${process.pid}`;
    t.teardown(() => removeRules(runWithInput, table));
    const proxy = new Running(
      join(root, 'bin', 'orch-proxy'),
      [
        `--orchconfig=${cluster.config}`,
        `--cluster-cidr=${ranges[1]}0.0/16`,
        `--nftables-table=${table}`,
        '--healthz-bind-address=',
        '--metrics-bind-address=',
      ],
      {},
    );
    t.teardown(() => proxy.stop());
    t.match(await eventually('it answers', async () => (await fetch()) || undefined), 'Hello from web');
    await proxy.stop();
    t.match(await fetch(), 'Hello from web', 'and goes on when that ends');
    const { code, stderr } = await run(join(root, 'bin', 'orch-proxy'), ['--cleanup', `--nftables-table=${table}`]);
    t.equal(code, 0, stderr);
    t.equal(await fetch(), '', 'until it takes its rules away');
  });
});
