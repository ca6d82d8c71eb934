/** Pods of real containers find services by their names, as their C libraries ask for them. */
import t from 'tap';
import { whyNoContainers } from '#cmd/orch/preflight.js';
import { eventually, startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(240_000);
const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const skip = noContainers === undefined ? false : `${noContainers}: these need real ones`;

const manifest = `
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
  const says = (what: string, pod: string, command: readonly string[], wanted: RegExp) =>
    eventually(what, async () => {
      const said = await inside(pod, ...command);
      if (!wanted.test(said)) throw new Error(said);
      return said;
    });
  const fetch = (host: string) => ['wget', '-q', '-O-', `http://${host}:8080/`];
  for (const host of ['pets', 'pets.default', 'cat.pets', 'cat.pets.default.svc.cluster.local', 'away'])
    t.match(await says(`a pod reaches ${host}`, 'client', fetch(host), /meow/), 'meow', host);
  t.match(await says('a pod of the host reaches it', 'on-host', fetch('cat.pets'), /meow/), 'meow');
  t.match(await says('a service', 'client', ['nslookup', 'orch.default.svc.cluster.local'], /Address: 10\./), 'orch');
  t.match(await inside('client', 'nslookup', 'nothing.default.svc.cluster.local'), 'NXDOMAIN');
  t.equal((await cluster.ctl('delete', 'service', 'pets')).code, 0);
  await says('a name that is gone', 'client', ['nslookup', 'pets.default.svc.cluster.local'], /NXDOMAIN/);
});
