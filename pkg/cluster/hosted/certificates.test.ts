import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { secrets } from '#api/core/v1/resources.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { type CertificatesOptions, ensureSecrets, filesOf } from '#cluster/hosted/certificates.js';

const namespace = 'tenants';
const values: CertificatesOptions = {
  ...{ name: 'a', namespace, labels: { part: 'a' }, kubeconfig: undefined },
  ...{ 'host-dialect': 'kubernetes', dialect: 'orch', server: 'https://a-apiserver.tenants.svc:6443' },
  ...{
    'server-names': ['api.example.com'],
    'server-ips': ['10.96.0.1'],
    'etcd-names': ['a-etcd-0.a-etcd.tenants.svc'],
  },
  clients: [],
  'renew-before': 30 * 24 * 3600_000,
};

function setUp() {
  const api = new FakeApi({ dialect, clock: realClock, resources: [secrets] });
  const ensure = (changed: Partial<CertificatesOptions> = {}, clock: Clock = realClock) =>
    ensureSecrets(api.client, { values: { ...values, ...changed }, namespace, clock });
  const files = (suffix: string) => filesOf(api.get(secrets, `${namespace}/a-${suffix}`));
  return { api, ensure, files };
}

t.test('each program gets only its own keys, and a second run writes nothing', async (t) => {
  const { api, ensure, files } = setUp();
  const all = ['a-pki', 'a-apiserver', 'a-etcd', 'a-controller-manager', 'a-scheduler', 'a-metrics', 'a-admin'];
  t.same(await ensure(), all);
  t.same(api.get(secrets, `${namespace}/a-pki`)?.metadata.labels, { part: 'a' });
  t.same(Object.keys(files('scheduler')).sort(), ['ca.crt', 'client.crt', 'client.key', 'kubeconfig']);
  t.ok(files('controller-manager')['ca.key'], 'it signs certificate requests');
  for (const suffix of ['apiserver', 'etcd', 'scheduler', 'admin'])
    for (const key of ['ca.key', 'etcd-ca.key', 'front-proxy-ca.key']) t.notOk(files(suffix)[key], `${suffix} ${key}`);
  const served = new X509Certificate(files('apiserver')['apiserver.crt'] ?? '').subjectAltName ?? '';
  for (const name of ['DNS:api.example.com', 'DNS:a-apiserver.tenants.svc', 'IP Address:10.96.0.1'])
    t.match(served, name);
  t.match(new X509Certificate(files('etcd')['etcd.crt'] ?? '').subjectAltName, 'a-etcd-0.a-etcd.tenants.svc');
  t.match(files('admin')['kubeconfig'], 'server: https://a-apiserver.tenants.svc:6443');
  t.same(await ensure(), [], 'all are valid');
});

t.test('certificates that expire soon or lack a name are replaced; authorities stay', async (t) => {
  const { ensure, files } = setUp();
  await ensure();
  const { 'ca.crt': ca } = files('apiserver');
  const written = await ensure({ 'server-names': ['other.example.com'] });
  t.same(written, ['a-pki', 'a-apiserver']);
  const { 'apiserver.crt': before } = files('apiserver');
  const nextYear = { ...realClock, now: () => realClock.now() + 350 * 24 * 3600_000 };
  t.same(await ensure({ 'server-names': ['other.example.com'] }, nextYear), [
    ...['a-pki', 'a-apiserver', 'a-etcd', 'a-controller-manager', 'a-scheduler', 'a-metrics', 'a-admin'],
  ]);
  t.not(files('apiserver')['apiserver.crt'], before);
  t.equal(files('apiserver')['ca.crt'], ca);
});

t.test('of two concurrent runs one starts over with the keys of the other', async (t) => {
  const { api, ensure, files } = setUp();
  let other: Promise<string[]> | undefined;
  const remove = api.intercept((call) => {
    if (call.verb !== 'create' || other !== undefined) return undefined;
    other = ensure();
    return new StatusError({ code: 409, reason: 'AlreadyExists' });
  });
  const both = await ensure();
  remove();
  await other;
  t.same(await ensure(), []);
  t.ok(files('pki')['ca.key']);
  t.ok(both.length <= 7);
});

t.test('optional programs get a Secret too', async (t) => {
  const { ensure, files } = setUp();
  await ensure();
  t.same(await ensure({ clients: ['ingress'] }), ['a-pki', 'a-ingress'], 'the others stay unchanged');
  t.same(Object.keys(files('ingress')).sort(), ['ca.crt', 'client.crt', 'client.key', 'kubeconfig']);
  t.match(new X509Certificate(files('ingress')['client.crt'] ?? '').subject, 'CN=system:orch-ingress');
  t.same(await ensure({ clients: ['ingress'] }), []);
});

t.test('the bootstrap client of nodes in pods may only request certificates', async (t) => {
  const { ensure, files } = setUp();
  t.ok((await ensure({ clients: ['node-agent'] })).includes('a-node-agent'));
  const { subject } = new X509Certificate(files('node-agent')['client.crt'] ?? '');
  t.equal(subject, 'O=system:bootstrappers:orch:default-node-token\nCN=system:bootstrap:node-agent');
});
