import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, writeSettings } from '#cmd/orch/context/settings.js';
import { introducer, keepAsking } from '#cmd/orch/introduction.js';
import { publishNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { ensureClusterPki } from '#cmd/orch/pki/cluster-pki.js';
import { startCluster } from '#cmd/orch/start-cluster.js';
import { memoryFileStore } from '#pki/file-store.js';

const program = fileURLToPath(new URL('./main.js', import.meta.url));
const nobody = { server: undefined, token: undefined, pin: undefined, file: undefined };
const silent = () => undefined;

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'intro-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

t.test('a client config says all that has to be known', async (t) => {
  const cluster = await startCluster({ dialect: 'kubernetes', nodes: 0, listen: true });
  t.teardown(() => cluster.close());
  const file = join(folderOf(t), 'config');
  writeFileSync(file, cluster.kubeconfig());
  const introduce = introducer({ ...nobody, file }, silent);
  await t.rejects(introduce(), {
    name: 'SetupError',
    message: /does not tell what a node has to know: configmaps "node-settings" not found/,
  });
  const waited = keepAsking(20_000, silent, introduce);
  await publishNodeSettings(cluster.client, {
    ...{ podRange: '10.1.0.0/16', serviceRange: '10.2.0.0/16', clusterDomain: 'cluster.local' },
    ...{ clusterDns: 'none', serviceProxy: 'none' },
  });
  const { ca, client, config, dialect, server } = await waited;
  t.teardown(() => client.close());
  t.equal(dialect.name, 'kubernetes');
  t.match(server, /^https:\/\/127\.0\.0\.1:\d+$/);
  t.match(ca, 'BEGIN CERTIFICATE');
  const text = config('/pki/cluster-ca.crt');
  t.match(text, 'client-certificate-data');
  t.match(text, '/pki/cluster-ca.crt');
  t.throws(() => introducer({ ...nobody, file, token: 'a' }, silent), /leave those out/);
  t.throws(() => introducer(nobody, silent), /say which cluster/);
  await t.rejects(introducer({ ...nobody, file: `${file}.none` }, silent)(), /cannot read the client config/);
});

t.test('a folder of another cluster, or of another node, is left as it is', async (t) => {
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
    /holds a node of another cluster, whose authority had another key/,
  );
  t.match(await joins('--node-name', 'b'), /is the node a, not b; take it out with: orch leave --data-dir/);
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
