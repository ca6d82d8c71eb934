import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { type ClusterSettings, writeSettings } from '#cluster/config/settings.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { introducer, retryFor } from '#cluster/join/introduction.js';
import { publishNodeSettings } from '#cluster/objects/node-settings.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { memoryFileStore } from '#pki/file-store.js';

const program = fileURLToPath(import.meta.resolve('#cmd/orch/main.js'));
const noOptions = { server: undefined, token: undefined, pin: undefined, file: undefined };
const silent = () => undefined;

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'intro-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

t.test('a client config is enough to join', async (t) => {
  const cluster = await startCluster({ dialect: 'kubernetes', nodes: 0, listen: true });
  t.teardown(() => cluster.close());
  const file = join(folderOf(t), 'config');
  writeFileSync(file, cluster.kubeconfig());
  const introduce = introducer({ ...noOptions, file }, silent);
  await t.rejects(introduce(), {
    name: 'SetupError',
    message: /cannot read the settings for nodes from .*: configmaps "node-settings" not found/,
  });
  const introduction = retryFor(20_000, silent, introduce);
  await publishNodeSettings(cluster.client, {
    ...{ podRange: '10.1.0.0/16', serviceRange: '10.2.0.0/16', clusterDomain: 'cluster.local' },
    ...{ clusterDns: 'none', serviceProxy: 'none' },
  });
  const { ca, client, config, dialect, server } = await introduction;
  t.teardown(() => client.close());
  t.equal(dialect.name, 'kubernetes');
  t.match(server, /^https:\/\/127\.0\.0\.1:\d+$/);
  t.match(ca, 'BEGIN CERTIFICATE');
  const text = config('/pki/cluster-ca.crt');
  t.match(text, 'client-certificate-data');
  t.match(text, '/pki/cluster-ca.crt');
  t.throws(() => introducer({ ...noOptions, file, token: 'a' }, silent), /leave those out/);
  t.throws(() => introducer(noOptions, silent), /SERVER, --token and --ca-hash are missing/);
  await t.rejects(introducer({ ...noOptions, file: `${file}.none` }, silent)(), /cannot read the client config/);
});

t.test('the folder of another cluster, or of another node, is refused', async (t) => {
  const folder = folderOf(t);
  const authority = async () => {
    const options = { dialect: orchDialect, names: [], ips: [] };
    return (await ensureClusterPki(memoryFileStore(new Map()), { ...options, now: realClock.now() })).authority
      .certificate;
  };
  const layout = layoutOf(join(folder, 'data'));
  mkdirSync(layout.pki, { recursive: true });
  writeFileSync(layout.joinedCa, await authority());
  const joined = { server: 'https://a:6443', nodeIPs: [], clusterDns: 'none', serviceProxy: 'none' };
  const settings: ClusterSettings = {
    ...{ dialect: 'orch', runtime: 'simulated', nodes: ['a'], serviceRange: '10.96.0.0/16', podRange: '10.244.0.0/16' },
    ...{ store: 'etcd', apiPort: 0, etcdClientPort: 0, etcdPeerPort: 0, joined },
  };
  writeSettings(layout.settings, settings);
  const file = join(folder, 'config');
  writeFileSync(file, configOf(await authority()));
  const joins = (...args: string[]) =>
    new Promise<string>((resolve) => {
      const all = [program, 'join', '--data-dir', layout.root, ...args];
      execFile(process.execPath, all, (_error, _stdout, stderr) => resolve(stderr));
    });
  t.match(
    await joins('--bootstrap-kubeconfig', file),
    /holds a node of another cluster, whose authority has another key/,
  );
  t.match(await joins('--node-name', 'b'), /is the node a, not b; leave it with: orch leave --data-dir/);
});

function configOf(ca: string): string {
  const data = Buffer.from(ca).toString('base64');
  const cluster = { server: 'https://a:6443', 'certificate-authority-data': data };
  const context = { cluster: 'a', user: 'a' };
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
    clusters: [{ name: 'a', cluster }],
    users: [{ name: 'a', user: {} }],
    contexts: [{ name: 'a', context }],
  });
}
