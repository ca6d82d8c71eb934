/** Pods of real containers resolve the names of services with their C libraries. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { eventually, run, startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(240_000);
const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const skip = noContainers === undefined ? false : `${noContainers}: these need real ones`;

const noDig = spawnSync('dig', ['-v']).error === undefined ? false : 'dig is missing (package bind9-dnsutils)';

/** The name of the network that has the address. */
async function networkOf(address: string): Promise<string> {
  const { stdout } = await run('ip', ['netns', 'list']);
  for (const line of stdout.split('\n')) {
    const [name = ''] = line.split(' ');
    if (name === '') continue;
    if ((await run('ip', ['-n', name, '-brief', 'address'])).stdout.includes(` ${address}/`)) return name;
  }
  throw new Error(`no network has the address ${address}`);
}

const manifest = `
apiVersion: v1
kind: Service
metadata: { name: shop }
spec: { selector: { app: unserved }, ports: [{ name: web, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: empty }
spec: { clusterIP: None, selector: { app: unserved }, ports: [{ name: web, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: pets }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app: pets }
  ports: [{ name: http, port: 8080 }]
---
apiVersion: v1
kind: Service
metadata: { name: away }
spec: { type: ExternalName, externalName: cat.pets.default.svc.cluster.local }
---
apiVersion: v1
kind: Pod
metadata: { name: cat, labels: { app: pets } }
spec:
  hostname: cat
  subdomain: pets
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: orch/busybox:1.0
      command: [sh, -c, 'mkdir -p /www; echo meow > /www/index.html; exec httpd -f -p 8080 -h /www']
---
apiVersion: v1
kind: Pod
metadata: { name: client }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: 'orch/busybox:1.0', command: [sleep, '3600'] }]
---
apiVersion: v1
kind: Pod
metadata: { name: on-host }
spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: 'orch/busybox:1.0', command: [sleep, '3600'] }]
`;

t.test('names', { skip }, async (t) => {
  const cluster = await startTestCluster({ runtime: 'containerd', nodes: 2, store: 'memory' });
  t.teardown(() => cluster.destroy());
  const applied = await cluster.client('sh', ['-c', `printf '%s' "$MANIFEST" | bin/orchctl apply -f -`], {
    env: { MANIFEST: manifest },
  });
  t.equal(applied.code, 0, applied.stderr);
  const inside = async (pod: string, ...command: string[]) => {
    const { stdout, stderr } = await cluster.ctl('exec', pod, '--', ...command);
    return stdout + stderr;
  };
  const says = (what: string, pod: string, command: readonly string[], expected: RegExp) =>
    eventually(what, async () => {
      const said = await inside(pod, ...command);
      if (!expected.test(said)) throw new Error(said);
      return said;
    });
  const fetch = (host: string) => ['wget', '-q', '-O-', `http://${host}:8080/`];
  for (const host of ['pets', 'pets.default', 'cat.pets', 'cat.pets.default.svc.cluster.local', 'away'])
    t.match(await says(`a pod reaches ${host}`, 'client', fetch(host), /meow/), 'meow', host);
  t.match(await says('a pod of the host reaches it', 'on-host', fetch('cat.pets'), /meow/), 'meow');
  t.match(await says('a service', 'client', ['nslookup', 'orch.default.svc.cluster.local'], /Address: 10\./), 'orch');
  t.match(await inside('client', 'nslookup', 'nothing.default.svc.cluster.local'), 'NXDOMAIN');
  await t.test('the records of the specification, as dig sees them from a pod', { skip: noDig }, async (t) => {
    const get = async <T>(...what: string[]) =>
      JSON.parse((await cluster.ctl('get', ...what, '-o', 'json')).stdout) as T;
    const { status: client } = await get<Pod>('pod', 'client');
    const { status: cat } = await get<Pod>('pod', 'cat');
    const { spec: shop } = await get<Service>('service', 'shop');
    const server = /nameserver (\S+)/.exec(await inside('client', 'cat', '/etc/resolv.conf'))?.[1] ?? '';
    const network = await networkOf(client?.podIP ?? '');
    const dig = async (...question: string[]) => {
      const how = [`@${server}`, '+noall', '+answer', '+comments', '+time=3'];
      const { stdout } = await run('ip', ['netns', 'exec', network, 'dig', ...how, ...question]);
      const status = /status: (\w+)/.exec(stdout)?.[1];
      const records = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'));
      return { status, records: records.map((line) => line.split(/\s+/).slice(3).join(' ')).sort() };
    };
    const [clusterIP = '', podIP = ''] = [shop?.clusterIP, cat?.podIP];
    const reversed = (address: string) => `${address.split('.').reverse().join('.')}.in-addr.arpa.`;
    const dashed = podIP.replaceAll('.', '-');
    const zone = 'cluster.local.';
    const rows: [question: string[], status: string, records: string[]][] = [
      [[`dns-version.${zone}`, 'TXT'], 'NOERROR', ['TXT "1.1.0"']],
      [[`shop.default.svc.${zone}`, 'A'], 'NOERROR', [`A ${clusterIP}`]],
      [[`SHOP.Default.svc.${zone}`, 'A'], 'NOERROR', [`A ${clusterIP}`]],
      [[`shop.default.svc.${zone}`, 'AAAA'], 'NOERROR', []],
      [[`_web._tcp.shop.default.svc.${zone}`, 'SRV'], 'NOERROR', [`SRV 0 100 80 shop.default.svc.${zone}`]],
      [[`_web._udp.shop.default.svc.${zone}`, 'SRV'], 'NXDOMAIN', []],
      [[`_nil._tcp.shop.default.svc.${zone}`, 'SRV'], 'NXDOMAIN', []],
      [[reversed(clusterIP), 'PTR'], 'NOERROR', [`PTR shop.default.svc.${zone}`]],
      [[`pets.default.svc.${zone}`, 'A'], 'NOERROR', [`A ${podIP}`]],
      [[`cat.pets.default.svc.${zone}`, 'A'], 'NOERROR', [`A ${podIP}`]],
      [[`dog.pets.default.svc.${zone}`, 'A'], 'NXDOMAIN', []],
      [[`_http._tcp.pets.default.svc.${zone}`, 'SRV'], 'NOERROR', [`SRV 0 100 8080 cat.pets.default.svc.${zone}`]],
      [[reversed(podIP), 'PTR'], 'NOERROR', [`PTR cat.pets.default.svc.${zone}`]],
      [[`empty.default.svc.${zone}`, 'A'], 'NXDOMAIN', []],
      [[`away.default.svc.${zone}`, 'CNAME'], 'NOERROR', [`CNAME cat.pets.default.svc.${zone}`]],
      [[`away.default.svc.${zone}`, 'A'], 'NOERROR', [`A ${podIP}`, `CNAME cat.pets.default.svc.${zone}`]],
      [[`${dashed}.default.pod.${zone}`, 'A'], 'NOERROR', [`A ${podIP}`]],
      [[`nothing.default.svc.${zone}`, 'A'], 'NXDOMAIN', []],
      [[`shop.nowhere.svc.${zone}`, 'A'], 'NXDOMAIN', []],
      [[`default.svc.${zone}`, 'A'], 'NOERROR', []],
      [['+tcp', `shop.default.svc.${zone}`, 'A'], 'NOERROR', [`A ${clusterIP}`]],
    ];
    for (const [question, status, records] of rows)
      t.same(await dig(...question), { status, records }, question.join(' '));
  });
  t.equal((await cluster.ctl('delete', 'service', 'pets')).code, 0);
  await says('a name that is gone', 'client', ['nslookup', 'pets.default.svc.cluster.local'], /NXDOMAIN/);
});
