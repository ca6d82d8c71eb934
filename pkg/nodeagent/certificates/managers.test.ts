import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { CertificateStore } from '#client/certificate/store.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { clientCertificateManager, servingCertificateManager } from '#nodeagent/certificates/managers.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

t.test('both certificates have metrics', async (t) => {
  const clock = new VirtualClock();
  const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const { client } = new FakeApi({ dialect, clock, resources: [] });
  const metrics = new Registry();
  const shared = {
    ...{ dialect, clock, directory, metrics, nodeName: 'n1', log: silentLogger },
    random: () => 0.5,
    client: () => client,
  };
  const authority = await createAuthority({ commonName: 'ca', now: clock.now() });
  const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
  const pair = await issueCertificate(authority, {
    subject,
    usages: ['client'],
    now: clock.now(),
    validityMs: 3_600_000,
  });
  await new CertificateStore(directory, 'kubelet-client').update(pair, clock.now());
  const manager = clientCertificateManager({ ...shared, rotates: true });
  servingCertificateManager({ ...shared, addresses: () => undefined });
  await manager.load();
  await clock.advance(60_000);
  const text = await metrics.metrics();
  for (const line of [
    'kubelet_certificate_manager_client_expiration_renew_errors 0',
    'kubelet_certificate_manager_client_ttl_seconds 3540',
    'kubelet_certificate_manager_server_ttl_seconds +Inf',
    'kubelet_server_expiration_renew_errors 0',
    'kubelet_certificate_manager_server_rotation_seconds_count 0',
  ])
    t.ok(text.split('\n').includes(line), line);
});
