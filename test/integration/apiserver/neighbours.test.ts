/** Requests that wait for a webhook or a node that sleeps, with a real server over etcd. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { waiting } from '#test/integration/apiserver/floods/attacks.js';
import type { Flood } from '#test/integration/apiserver/floods/client.js';
import { startPlace } from '#test/integration/apiserver/floods/place.js';
import { Victim } from '#test/integration/apiserver/floods/victims.js';
import { withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

interface Sleeper {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  /** Connections so far. */
  accepted(): number;
}

/** Accepts connections and requests, and never answers. */
async function sleeper(t: Test): Promise<Sleeper> {
  const { certificate, privateKey } = await createSelfSigned({
    commonName: 'sleeper',
    names: ['localhost'],
    ips: ['127.0.0.1'],
    now: realClock.now(),
  });
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ cert: certificate, key: privateKey }, (socket) => socket.resume());
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { ca: certificate, port: (server.address() as AddressInfo).port, accepted: () => accepted };
}

t.test('requests that wait for another server stop no others', withEtcd, async (t) => {
  const { port, work } = await startPlace(t);
  const { port: sleeping, ca, accepted } = await sleeper(t);
  const administrator = new Victim('setup', port, 'administrator');
  t.teardown(() => administrator.close());
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const hook = {
    name: 'sleeper.test.local',
    clientConfig: { url: `https://127.0.0.1:${sleeping}/`, caBundle: Buffer.from(ca).toString('base64') },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    objectSelector: { matchLabels: { slow: 'yes' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 30,
  };
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'sleeper' },
    webhooks: [hook],
  };
  t.equal((await administrator.send('POST', hooks, configuration)).status, 201, 'the webhook');
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'sleeper' },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: sleeping } },
    },
  };
  t.equal((await administrator.send('POST', '/api/v1/nodes', node)).status, 201, 'the node');
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'sleeper' },
    spec: { nodeName: 'sleeper', containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false },
  };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await administrator.send('POST', '/api/v1/namespaces/default/serviceaccounts', account);
  t.equal((await administrator.send('POST', '/api/v1/namespaces/default/pods', pod)).status, 201, 'the pod');
  const slowMap = (i: number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `slow-${i}`, labels: { slow: 'yes' } },
  });
  const rows: readonly [name: string, flood: Flood][] = [
    ['a webhook', waiting('POST', '/api/v1/namespaces/default/configmaps', slowMap)],
    ['the logs of a node', waiting('GET', '/api/v1/namespaces/default/pods/sleeper/log')],
    ['a proxied node', waiting('GET', '/api/v1/nodes/sleeper/proxy/stats')],
  ];
  for (const [name, flood] of rows) {
    const before = accepted();
    const attack = flood({ port, token: 'administrator', address: '127.0.1.1' }, 150);
    while (accepted() < before + 50) {
      if (attack.outcomes.size > 0 && attack.outcomes.get('429') === undefined) {
        t.fail(`${name}: ${JSON.stringify([...attack.outcomes])}`);
        break;
      }
      await realClock.sleep(10);
    }
    for (const errand of work.all) {
      for (const fresh of [false, true]) {
        t.equal(await errand.run(fresh), errand.expected, `${name}: ${errand.name}${fresh ? ' anew' : ''}`);
      }
    }
    attack.stop();
  }
});
