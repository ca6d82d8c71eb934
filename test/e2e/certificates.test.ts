/** All certificates of a running cluster are renewed twice under load: no program restarts and no request fails. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import t from 'tap';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet } from '#api/apps/v1/types.gen.js';
import { configmaps, nodes, pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { whyNoEtcd } from '#cluster/machine/preflight.js';
import { targetFile } from '#cluster/observe/targets.js';
import { renewCertificates } from '#cluster/pki/renew-certificates.js';
import { AcknowledgedWrites } from '#test/e2e/acknowledged.js';
import { eventually, root, run, startTestCluster } from '#test/e2e/harness.js';
import { findProgram } from '#test/e2e/kill.js';
import { adminClient, metricsOf, nodeNames } from '#test/e2e/observe.js';

t.setTimeout(180_000);
const dialect = dialectByName('orch');
const { apiServer, controllerManager, scheduler, nodeAgent } = dialect.components;
/** Certificates with this validity are due for renewal at once. */
const briefMs = 3600_000;

t.test('certificates', { skip: whyNoEtcd(process.env['PATH'] ?? '') ?? false }, async (t) => {
  const cluster = await startTestCluster({ separate: true });
  t.teardown(() => cluster.destroy());
  const layout = layoutOf(cluster.dataDir);
  const [node = ''] = nodeNames(cluster.dataDir);
  const config = await loadKubeconfig(layout.componentConfig('controller-manager'), {
    clock: realClock,
    userFields: { 'client-certificate': join(layout.pki, 'admin.crt'), 'client-key': join(layout.pki, 'admin.key') },
  });
  const client = connect(config, { dialect, clock: realClock, userAgent: 'e2e' });
  t.teardown(() => client.close());
  const identities = () =>
    ['orch', 'etcd', apiServer, controllerManager, scheduler, nodeAgent].map(
      (name) => `${name} ${findProgram(cluster.dataDir, name)?.pid}`,
    );
  const before = identities();
  const ports = await portsOf(layout, client, node);
  t.equal(ports.size, 6);
  const watch = new Watch(client);
  const writes = new AcknowledgedWrites(client);
  const asOnDisk = async (what: string) => {
    for (const [port, file] of ports)
      await eventually(`port ${port} presents ${what}, ${file}`, async () => {
        return (await presented(layout, port)) === serialOf(join(layout.pki, file));
      });
  };
  await asOnDisk('the first ones');

  const all = { renewBeforeMs: Number.POSITIVE_INFINITY, validityMs: briefMs };
  const { failed, renewed } = await renewCertificates(layout, { ...all, now: realClock.now() });
  t.same([...failed], []);
  t.same(
    renewed.filter((file) => /^(apiserver|admin|etcd-server|etcd-client|front-proxy-client)\.crt$/.test(file)).length,
    5,
  );
  await asOnDisk('brief ones');

  const orch = join(root, 'bin', 'orch');
  const soon = await run(orch, ['certs', `--data-dir=${cluster.dataDir}`]);
  t.match(soon.stderr, /end in less than 30 days; the running cluster renews them within a day/);
  const renewal = await run(orch, ['certs', 'renew', `--data-dir=${cluster.dataDir}`]);
  t.equal(renewal.code, 0, renewal.stderr);
  t.match(renewal.stdout, /^apiserver\.crt renewed$/m);
  t.match(renewal.stdout, /no restart is needed/);
  await asOnDisk('those of after');

  // With the client config of users, over new connections.
  const fresh = await adminClient(cluster);
  t.teardown(() => fresh.close());
  await eventually('the agent knows the API server', async () => {
    const { status } = await client.open({ method: 'GET', path: `/api/v1/nodes/${node}/proxy/healthz` });
    return status === 200;
  });
  await fresh.resource(replicasets).create(replicaSet('after'), { namespace: 'default' });
  await eventually('controllers and scheduler go on', async () => {
    const { items } = await fresh.resource(pods).list({ namespace: 'default' });
    return items.length === 1 && items[0]?.spec?.nodeName === node;
  });
  await writes.stop();
  await eventually('all writes were watched', async () => watch.seen >= writes.count);
  t.equal(writes.unanswered, 0, 'every write was answered');
  t.same(await writes.lost(), []);
  t.equal(watch.ended, undefined, 'one watch has gone on all the time');
  watch.stop();
  t.same(identities(), before, 'every program is the one that it was');
  const text = await metricsOf(cluster);
  for (const role of ['serving', 'etcd-client', 'node-client', 'proxy-client', 'client-authority']) {
    const [, end] =
      new RegExp(`^certificate_expiration_timestamp_seconds\\{role="${role}"\\} (\\S+)$`, 'm').exec(text) ?? [];
    t.ok(Number(end) * 1000 > realClock.now() + 300 * 24 * 3600_000, `${role} ends at ${end}`);
  }
});

function replicaSet(name: string): ReplicaSet {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  return { metadata: { name }, spec: { replicas: 1, selector: { matchLabels: labels }, template } } as ReplicaSet;
}

/** Ports with TLS, and the certificate files that they must present. */
async function portsOf(layout: Layout, client: Client, node: string): Promise<Map<number, string>> {
  const settings = readSettings(layout.settings);
  const { status } = await client.resource(nodes).get(node);
  const target = (part: 'controller-manager' | 'scheduler') => {
    const text = readFileSync(targetFile(layout, part), 'utf8');
    return Number(/:(\d+)"/.exec(text)?.[1]);
  };
  const own = (part: string) => {
    const [file] = readdirSync(join(layout.pki, part)).filter((name) => name.endsWith('.crt'));
    return join(part, file ?? '');
  };
  return new Map([
    [settings?.apiPort ?? 0, 'apiserver.crt'],
    [settings?.etcdClientPort ?? 0, 'etcd-server.crt'],
    [settings?.etcdPeerPort ?? 0, 'etcd-server.crt'],
    [status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0, `node-${node}-serving.crt`],
    [target('controller-manager'), own('controller-manager')],
    [target('scheduler'), own('scheduler')],
  ]);
}

function serialOf(file: string): string {
  return new X509Certificate(readFileSync(file)).serialNumber;
}

/** Serial number of the certificate that the port presents. etcd answers only clients with a certificate. */
function presented({ pki }: Layout, port: number): Promise<string> {
  const [cert, key] = ['crt', 'key'].map((end) => readFileSync(join(pki, `etcd-client.${end}`)));
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, cert, key, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? '');
      socket.destroy();
    });
    socket.on('error', (error) => resolve(String(error)));
  });
}

/** One watch, without a restart after its end. */
class Watch {
  readonly #stop = new AbortController();
  seen = 0;
  /** Why the watch ended; undefined while it runs. */
  ended: unknown;

  constructor(client: Client) {
    this.#follow(client).then(
      () => this.#over('it ended'),
      (error: unknown) => this.#over(error),
    );
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(client: Client): Promise<void> {
    const options = { namespace: 'default', labelSelector: 'purpose=acknowledged', signal: this.#stop.signal };
    for await (const { type } of client.resource(configmaps).watch(options)) if (type !== 'BOOKMARK') this.seen++;
  }

  #over(why: unknown): void {
    if (!this.#stop.signal.aborted) this.ended = why;
  }
}
