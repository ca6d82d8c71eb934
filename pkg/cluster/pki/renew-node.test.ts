import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { withValidity } from '#client/certificate/key-certificate.js';
import { CertificateStore } from '#client/certificate/store.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { layoutOf } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { renewNodeCertificates } from '#cluster/pki/renew-node.js';
import { agentCertificates } from '#cluster/pki/report.js';
import { createAuthority } from '#pki/certificate.js';
import { memoryFileStore } from '#pki/file-store.js';

const dayMs = 24 * 3600_000;
const name = `${orchDialect.components.nodeAgent}-client`;

t.test('a node renews a certificate that is due, by its name, and reports why one failed', async (t) => {
  const cluster = await startCluster({ dialect: 'orch', nodes: 0, listen: true });
  const folder = mkdtempSync(join(tmpdir(), 'renew-node-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const layout = layoutOf(folder);
  const config = cluster.kubeconfig();
  const { server = '', 'certificate-authority-data': ca = '' } = parseKubeconfig(config).clusters[0]?.cluster ?? {};
  mkdirSync(layout.pki);
  writeFileSync(layout.joinedCa, Buffer.from(ca, 'base64'));
  writeFileSync(layout.componentConfig('node-a'), config);
  const joined = { server, nodeIPs: [], clusterDns: 'none', serviceProxy: 'none' };
  const settings: ClusterSettings = {
    ...{ dialect: 'orch', runtime: 'simulated', nodes: ['a'], serviceRange: '10.96.0.0/16', podRange: '10.244.0.0/16' },
    ...{ store: 'etcd', apiPort: 0, etcdClientPort: 0, etcdPeerPort: 0, joined },
  };
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'orch-ca', now });
  const times = { now: now - 350 * dayMs, validityMs: 365 * dayMs };
  const options = { dialect: orchDialect, nodeName: 'a', names: [], ips: [], ...times };
  const { client } = await ensureNodePki(memoryFileStore(), authority, options);
  const store = new CertificateStore(agentCertificates(layout, 'a'), name);
  await store.update(client, times.now);
  const renew = (names: readonly string[], renewBeforeMs: number) =>
    renewNodeCertificates(layout, settings, { clock: realClock, now, names, renewBeforeMs });

  await t.rejects(renew(['apiserver'], dayMs), { message: `there is no certificate apiserver; there are: ${name}, ` });
  t.same((await renew([], dayMs)).renewed, [], 'not due');
  const requested = [`nodes/a/pki/${name}-current.pem`];
  t.same(await renew(requested, 30 * dayMs), { renewed: [store.currentFile], failed: new Map() });
  const current = await store.current();
  t.ok(current !== undefined && withValidity(current).notAfter > now + 300 * dayMs);

  await cluster.close();
  const { failed, renewed } = await renew([], Number.POSITIVE_INFINITY);
  t.same(renewed, []);
  t.match(failed.get(store.currentFile), /ECONNREFUSED/);
});
