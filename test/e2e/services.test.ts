/** Services of real containers: every type, from pods, from the node and from outside. */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { layoutOf } from '#cluster/config/layout.js';
import { tableOf } from '#cluster/supervise/node-network.js';
import {
  eventually,
  httpBody,
  ownRanges,
  rangeArguments,
  run,
  startTestCluster,
  whyNoServices,
} from '#test/e2e/harness.js';

t.setTimeout(240_000);

const skip = whyNoServices() ?? false;
/** An address for documentation (RFC 5737), so no host has it. */
const externalIP = '198.51.100.7';

/** Answers with the pod's name and the client's address. */
const answer =
  '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\nConnection: close\\r\\n\\r\\n$(hostname) $REMOTE_ADDR\\n"\n';
const server = [
  'mkdir -p /www/cgi-bin; cd /www/cgi-bin',
  `echo ${Buffer.from(answer).toString('base64')} | base64 -d >who`,
  'chmod +x who; exec httpd -f -p 8080 -h /www',
].join('; ');

/** The client pod. */
function client(labels: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'client', labels },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'orch/busybox:1.0', command: ['sleep', '3600'] }],
    },
  });
}

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 4
  selector: { matchLabels: { app: web } }
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 2 } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - name: main
          image: orch/busybox:1.0
          command: [sh, -c, ${JSON.stringify(server)}]
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 }
          lifecycle: { preStop: { exec: { command: [sleep, '2'] } } }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ name: http, port: 80, targetPort: http }] }
---
apiVersion: v1
kind: Service
metadata: { name: ported }
spec: { type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: sticky }
spec: { sessionAffinity: ClientIP, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: local }
spec:
  type: NodePort
  externalTrafficPolicy: Local
  externalIPs: [${externalIP}]
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080 }]
---
apiVersion: v1
kind: Service
metadata: { name: unserved }
spec: { selector: { app: unserved }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: chosen }
spec: { ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: echo }
spec: { ports: [{ port: 7, protocol: UDP }] }
---
${client()}
`;

/** An EndpointSlice that no controller manages. */
function slice(of: { name: string; address: string; port: number; protocol: string }): string {
  const { address, name, port, protocol } = of;
  return JSON.stringify({
    apiVersion: 'discovery.orch.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'orch.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ name: '', port, protocol }],
  });
}

/** A server that answers every datagram with its name. */
async function udpServer(address: string, name: string) {
  const socket = createSocket('udp4', (_, { address: host, port }) => socket.send(name, port, host));
  socket.bind(0, address);
  await once(socket, 'listening');
  return { name, port: socket.address().port, close: () => socket.close() };
}

/** A host outside of the cluster, in a separate network beside this machine. */
class Outside {
  readonly #name = `oe2e-${process.pid}`;
  readonly #link = `oe${process.pid}`;
  readonly gateway = '198.18.77.1';

  constructor() {
    const ip = (...args: string[]) => execFileSync('ip', args);
    ip('netns', 'add', this.#name);
    ip('link', 'add', this.#link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name);
    ip('address', 'add', `${this.gateway}/24`, 'dev', this.#link);
    ip('link', 'set', this.#link, 'up');
    ip('-n', this.#name, 'address', 'add', '198.18.77.2/24', 'dev', 'eth0');
    ip('-n', this.#name, 'link', 'set', 'eth0', 'up');
    ip('-n', this.#name, 'route', 'add', 'default', 'via', this.gateway);
  }

  async fetch(url: string): Promise<string> {
    return (
      await run('ip', ['netns', 'exec', this.#name, 'busybox', 'timeout', '3', 'busybox', 'wget', '-q', '-O-', url])
    ).stdout;
  }

  close(): void {
    execFileSync('ip', ['netns', 'delete', this.#name]);
  }
}

t.test('services', { skip }, async (t) => {
  const ranges = await ownRanges();
  const cluster = await startTestCluster({
    runtime: 'containerd',
    nodes: 2,
    store: 'memory',
    args: rangeArguments(ranges),
  });
  t.teardown(() => cluster.destroy());
  const apply = async (text: string) => {
    const applied = await cluster.client('bin/orchctl', ['apply', '-f', '-'], { input: text });
    if (applied.code !== 0) throw new Error(applied.stderr);
  };
  const get = async <T>(...what: string[]) => JSON.parse((await cluster.ctl('get', ...what, '-o', 'json')).stdout) as T;
  const service = async (name: string) => (await get<Service>('service', name)).spec;
  const webPods = async () => (await get<{ items: Pod[] }>('pods', '-l', 'app=web')).items;
  const inside = async (...command: string[]) => {
    const { stdout, stderr } = await cluster.ctl('exec', 'client', '--', ...command);
    return stdout + stderr;
  };
  // Without the time limit of wget, which crashes in this busybox.
  const fetch = (host: string) => inside('timeout', '2', 'wget', '-q', '-O-', `http://${host}/cgi-bin/who`);
  await apply(manifest);
  await cluster.ctl('rollout', 'status', 'deployment/web', '--timeout=90s');
  const web = (await service('web'))?.clusterIP ?? '';

  // Many requests in one session: a session costs far more.
  const fetchMany = async (pod: string, host: string, times: number) => {
    const loop = `for i in $(seq ${times}); do timeout 5 wget -q -O- http://${host}/cgi-bin/who; done`;
    return (await cluster.ctl('exec', pod, '--', 'sh', '-c', loop)).stdout.trim().split('\n');
  };

  await t.test('a cluster address, from a pod', async (t) => {
    const answers = await eventually('all pods have answered', async () => {
      const said = await fetchMany('client', 'web', 40);
      return new Set(said.map((answer) => answer.split(' ')[0])).size === 4 && said;
    });
    t.equal(answers.length, 40, 'no request was lost');
  });
  await t.test('from the node', async (t) => {
    t.match(await httpBody(`http://${web}/cgi-bin/who`), /^web-/);
  });
  await t.test('from itself', async (t) => {
    const pod = (await webPods())[0]?.metadata.name ?? '';
    const answers = await fetchMany(pod, web, 40);
    t.equal(answers.length, 40, 'no request was lost');
    t.ok(
      answers.some((answer) => answer.startsWith(pod)),
      'some reached the pod that asked',
    );
  });
  const outside = new Outside();
  t.teardown(() => outside.close());
  await t.test('a node port', async (t) => {
    const port = (await service('ported'))?.ports?.[0]?.nodePort;
    t.match(await outside.fetch(`http://${outside.gateway}:${port}/cgi-bin/who`), /^web-/, 'from outside');
    t.match(await httpBody(`http://${outside.gateway}:${port}/cgi-bin/who`), /^web-/, 'from the node');
    t.match(await httpBody(`http://127.0.0.1:${port}/cgi-bin/who`), /^web-/, 'from the node at its loopback address');
    t.match(await fetch(`${outside.gateway}:${port}`), /^web-/, 'from a pod');
  });
  await t.test('endpoints of the node alone', async (t) => {
    const port = (await service('local'))?.ports?.[0]?.nodePort;
    for (const at of [`${outside.gateway}:${port}`, externalIP])
      t.match(await outside.fetch(`http://${at}/cgi-bin/who`), /198\.18\.77\.2/, `${at}: the client's address is kept`);
    t.equal(await outside.fetch(`http://${web}/cgi-bin/who`), '', 'cluster addresses are for those inside');
  });
  await t.test('session affinity', async (t) => {
    const answers = await fetchMany('client', 'sticky', 12);
    t.match(answers[0], /^web-/);
    t.equal(answers.length, 12);
    t.equal(new Set(answers).size, 1);
  });
  await t.test('a service without endpoints', async (t) => {
    t.match(await fetch('unserved'), /refused/);
    const address = (await service('unserved'))?.clusterIP;
    await t.rejects(httpBody(`http://${address}/`), /ECONNREFUSED/);
  });
  await t.test('endpoints from a slice that the user wrote', async (t) => {
    const address = (await webPods())[0]?.status?.podIP ?? '';
    await apply(slice({ name: 'chosen', address, port: 8080, protocol: 'TCP' }));
    t.match(await eventually('it answers', async () => /web-.*/.exec(await fetch('chosen'))?.[0]), /^web-/);
  });
  await t.test('UDP', async (t) => {
    const servers = await Promise.all(['first', 'second'].map((name) => udpServer(outside.gateway, name)));
    t.teardown(() => servers.map(({ close }) => close()));
    const client = createSocket('udp4');
    t.teardown(() => client.close());
    const echo = (await service('echo'))?.clusterIP;
    const ask = async () => {
      client.send('hello', 7, echo);
      return String((await once(client, 'message', { signal: AbortSignal.timeout(1000) }))[0]);
    };
    for (const { name, port } of servers) {
      await apply(slice({ name: 'echo', address: outside.gateway, port, protocol: 'UDP' }));
      t.ok(await eventually(`the client reaches the ${name} server`, async () => (await ask()) === name));
    }
  });
  await t.test('a rolling update', async (t) => {
    let ended = false;
    const failures: string[] = [];
    let answers = 0;
    const asking = (async () => {
      while (!ended) {
        await httpBody(`http://${web}/cgi-bin/who`).then(
          () => answers++,
          (error: unknown) => failures.push(String(error)),
        );
      }
    })();
    await cluster.ctl('rollout', 'restart', 'deployment/web');
    const { code, stderr } = await cluster.ctl('rollout', 'status', 'deployment/web', '--timeout=90s');
    t.equal(code, 0, stderr);
    ended = true;
    await asking;
    t.same(failures, [], `${answers} answers, none refused`);
  });
  await t.test('network policies', async (t) => {
    const policies = `
apiVersion: networking.orch.io/v1
kind: NetworkPolicy
metadata: { name: web }
spec:
  podSelector: { matchLabels: { app: web } }
  ingress:
    - from: [{ podSelector: { matchLabels: { may: enter } } }]
      ports: [{ port: http }]
    - from: [{ ipBlock: { cidr: 198.18.0.0/15, except: [198.18.77.0/24] } }]
---
apiVersion: networking.orch.io/v1
kind: NetworkPolicy
metadata: { name: client }
spec:
  podSelector: { matchLabels: { may: '' } }
  policyTypes: [Egress]
`;
    const { nodePort } = (await service('local'))?.ports?.[0] ?? {};
    const fromOutside = () => outside.fetch(`http://${outside.gateway}:${nodePort}/cgi-bin/who`);
    const isShut = (what: string, ask: () => Promise<string>) =>
      eventually(what, async () => !(await ask()).includes('web-'));
    const isOpen = (what: string, ask: () => Promise<string>) =>
      eventually(what, async () => (await ask()).includes('web-'));
    const byAddress = () => fetch(web);
    await apply(policies);
    t.ok(await isShut('a pod is kept out', byAddress));
    t.ok(await isShut('a client outside is kept out', fromOutside));
    t.match(await httpBody(`http://${web}/cgi-bin/who`), /^web-/, 'the node reaches its pods');
    await apply(client({ may: 'enter' }));
    t.ok(await isOpen('a pod with the label is let in', byAddress));
    t.match(await fetch('web'), /^web-/, 'names are found');
    await apply(client({ may: '' }));
    t.ok(await isShut('a pod that may send nothing reaches no pod', byAddress));
    for (const name of ['web', 'client']) t.equal((await cluster.ctl('delete', 'networkpolicy', name)).code, 0);
    t.ok(await isOpen('without policies every client is let in', byAddress));
    t.ok(await isOpen('from outside, too', fromOutside));
  });
  await t.test('rules end with the cluster', async (t) => {
    t.match((await run('nft', ['list', 'tables'])).stdout, /table inet orch-/);
    await cluster.down();
    const { stdout } = await run('nft', ['list', 'tables']);
    t.notMatch(stdout, new RegExp(tableOf(layoutOf(cluster.dataDir))));
  });
});
