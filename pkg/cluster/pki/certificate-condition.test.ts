import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { certificateCondition, updateCertificateCondition } from '#cluster/pki/certificate-condition.js';

const now = Date.parse('2030-01-01T00:00:00Z');
const common = { subject: '', issuer: '', names: [] };
const report = (file: string, notAfter: string) => ({ ...common, file, notAfter });

t.test('the condition names the certificates that end', async (t) => {
  t.match(certificateCondition([], now), { status: 'False', reason: 'CertificatesValid' });
  const soon = report('pki/apiserver.crt', '2030-01-05T00:00:00.000Z');
  t.same(certificateCondition([soon], now), {
    status: 'True',
    reason: 'CertificatesExpireSoon',
    message: 'pki/apiserver.crt ends at 2030-01-05T00:00:00.000Z; on the machine: orch certs renew',
  });
  const ended = report('pki/a.crt', '2029-12-31T00:00:00.000Z');
  const damaged = { ...common, file: 'pki/b.crt', problem: 'no start line' };
  const { reason, message } = certificateCondition([damaged, ended, soon, soon, soon], now);
  t.equal(reason, 'CertificatesExpired');
  t.match(message, /^pki\/b\.crt cannot be read: no start line, pki\/a\.crt ended at .*, pki\/apiserver.*, 2 more;/);
});

t.test('a node gets the condition when a certificate ends soon, and it becomes False after renewal', async (t) => {
  const clock = new VirtualClock(now);
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [nodes] });
  const ready = { type: 'Ready', status: 'True' };
  await api.client
    .resource(nodes)
    .create({ metadata: { name: 'n1' }, spec: {}, status: { conditions: [ready] } } as Node);
  const show = (ending: Parameters<typeof updateCertificateCondition>[1]) =>
    updateCertificateCondition({ client: api.client, node: 'n1', clock }, ending);
  const shown = () =>
    api.get<Node>(nodes, 'n1')?.status?.conditions?.find(({ type }) => type === 'CertificatesExpiring');
  await show([]);
  t.equal(shown(), undefined);
  await show([report('pki/a.crt', '2030-01-05T00:00:00.000Z')]);
  t.match(shown(), { status: 'True', lastTransitionTime: '2030-01-01T00:00:00Z' });
  await clock.advance(60_000);
  await show([]);
  t.match(shown(), { status: 'False', reason: 'CertificatesValid', lastTransitionTime: '2030-01-01T00:01:00Z' });
});
