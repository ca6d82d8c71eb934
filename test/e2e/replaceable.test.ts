/** Each part of a cluster can be turned off, so that another program does its work. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { layoutOf } from '#cluster/config/layout.js';
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
  tools,
  whyNoServices,
} from '#test/e2e/harness.js';
import { type Host, makeHosts } from '#test/e2e/hosts.js';
import { isReady } from '#test/e2e/pods.js';

t.setTimeout(240_000);

const skip = whyNoServices() ?? false;
/** A name server outside the cluster (RFC 5737). */
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
    const pod = await get<Pod>('pod', 'web');
    return isReady(pod) && pod;
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

const peers = {
  proxy: process.env['PEER_PROXY'] ?? join(tools, 'peers', 'kube-proxy'),
  dns: process.env['PEER_DNS'] ?? join(tools, 'peers', 'coredns'),
};
const noPeers = Object.values(peers).every((path) => existsSync(path))
  ? undefined
  : 'no programs of another implementation (hack/build-peers.sh 24.17 kube-proxy, hack/build-coredns.sh)';

t.test(
  'with another implementation’s service proxy and name server',
  { skip: skip || (noPeers ?? false) },
  async (t) => {
    const network = makeHosts([2]);
    t.teardown(() => network.destroy());
    const [machine, outside] = network.hosts as [Host, Host];
    const dataDir = mkdtempSync(join(tmpdir(), 'oj-'));
    const [services, podRange] = await ownRanges();
    const dns = `${services}0.10`;
    const orch = (...args: string[]) =>
      machine.run(join(root, 'bin', 'orch'), [...args, '--data-dir', dataDir], { timeoutMs: 180_000 });
    t.teardown(async () => {
      await orch('down', '--delete');
      rmSync(dataDir, { recursive: true, force: true });
    });
    const args = ['--node-ip', machine.address, '--service-proxy=none', `--cluster-dns=${dns}`, '--store=memory'];
    const up = await orch('up', '--dialect=kubernetes', '--detach', ...rangeArguments([services, podRange]), ...args);
    t.equal(up.code, 0, up.stderr);
    const { clientConfig } = layoutOf(dataDir);
    const ctl = (given: readonly string[], input = '') =>
      machine.run(join(root, 'bin', 'orchctl'), given, { env: { KUBECONFIG: clientConfig }, input });
    const { items } = JSON.parse((await ctl(['get', 'nodes', '-o', 'json'])).stdout) as { items: Node[] };
    const node = items[0]?.metadata.name ?? '';

    const start = (program: string, ...given: string[]) => {
      const running = new Running('nsenter', [`--net=/run/netns/${machine.name}`, program, ...given], {});
      t.teardown(() => running.stop());
      return running;
    };
    const proxy = start(
      peers.proxy,
      ...[`--kubeconfig=${clientConfig}`, '--proxy-mode=iptables', `--cluster-cidr=${podRange}0.0/16`],
      ...[`--hostname-override=${node}`, '--healthz-bind-address=127.0.0.1:10256', '--conntrack-max-per-core=0'],
      ...['--conntrack-tcp-timeout-established=0s', '--conntrack-tcp-timeout-close-wait=0s'],
    );
    const corefile = join(dataDir, 'Corefile');
    writeFileSync(
      corefile,
      `.:5353 {
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${clientConfig}
    pods insecure
  }
  cache 5
}
`,
    );
    const names = start(peers.dns, '-conf', corefile);
    const applied = await ctl(
      ['apply', '-f', '-'],
      `${nameServerService(dns, machine.address)}---${manifest.replace('spec: { selector: { app: web }', 'spec: { type: NodePort, selector: { app: web }')}`,
    );
    t.equal(applied.code, 0, applied.stderr);
    await eventually('the pod is ready', async () => {
      const { stdout } = await ctl(['get', 'pod', 'web', '-o', 'json']);
      return isReady(JSON.parse(stdout) as Pod);
    });
    const inside = async (...command: string[]) => (await ctl(['exec', 'web', '--', ...command])).stdout;
    await eventually('a service answers by its name', async () => {
      const answer = await inside('timeout', '2', 'wget', '-q', '-O-', 'http://web.default/');
      if (answer.includes('Hello from web')) return true;
      throw new Error(`${answer}\n${proxy.stderr}\n${names.stdout}${names.stderr}`);
    });
    const service = JSON.parse((await ctl(['get', 'service', 'web', '-o', 'json'])).stdout) as Service;
    const { clusterIP = '', ports: [port] = [] } = service.spec ?? {};
    t.match(await inside('nslookup', clusterIP), 'web.default.svc.cluster.local', 'and has its name by its address');
    const fetch = async ({ run: on }: Host) => {
      const url = `http://${machine.address}:${port?.nodePort}/`;
      return on('busybox', ['timeout', '3', 'busybox', 'wget', '-q', '-O-', url]);
    };
    t.match((await fetch(outside)).stdout, 'Hello from web', 'its node port answers others');
    t.match((await machine.run('iptables-save', [])).stdout, /-A KUBE-SERVICES .*default\/web cluster IP/);
    t.equal((await machine.run('nft', ['list', 'tables', 'inet'])).stdout, '', 'there is no table of ours');
    t.equal((await ctl(['delete', 'pod', 'web'])).code, 0);
    await eventually('the connection is refused', async () => (await fetch(outside)).stderr.includes('refused'));
  },
);

/** The name server as a service, as clusters have it. */
function nameServerService(clusterIP: string, address: string): string {
  return `
apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system }
spec:
  clusterIP: ${clusterIP}
  ports:
    - { name: dns, port: 53, targetPort: 5353, protocol: UDP }
    - { name: dns-tcp, port: 53, targetPort: 5353, protocol: TCP }
---
apiVersion: v1
kind: Endpoints
metadata: { name: kube-dns, namespace: kube-system }
subsets:
  - addresses: [{ ip: ${address} }]
    ports:
      - { name: dns, port: 5353, protocol: UDP }
      - { name: dns-tcp, port: 5353, protocol: TCP }
`;
}
