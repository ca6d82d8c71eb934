import t from 'tap';
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { combinedData, publishAuthentication } from '#apiserver/bootstrap/authentication-config-map.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { createAuthority } from '#pki/certificate.js';

const now = Date.UTC(2026, 0, 1);
const [one, two] = await Promise.all(
  ['one', 'two'].map(async (commonName) => (await createAuthority({ commonName, now })).certificate),
);
const old = (await createAuthority({ commonName: 'old', now: now - 50 * 366 * 86_400_000 })).certificate;
const facts = {
  clientCA: one,
  requestHeaderCA: two,
  allowedNames: ['front-proxy-client'],
  usernameHeaders: ['X-Remote-User'],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: ['X-Remote-Extra-'],
};

t.test('the facts that a server publishes', async (t) => {
  const all = {
    'client-ca-file': one,
    'requestheader-client-ca-file': two,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  };
  t.same(combinedData({}, facts, now), all);
  t.same(combinedData(all as Record<string, string>, facts, now), all, 'no certificate is repeated');
  const empty = { ...facts, requestHeaderCA: undefined };
  t.same(combinedData({}, empty, now), { 'client-ca-file': one }, 'no header names without an authority');
});

t.test('the facts of several servers are combined', async (t) => {
  const published = {
    'client-ca-file': `${two}${old}`,
    'requestheader-client-ca-file': `${one}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    'requestheader-allowed-names': '["another"]',
    'requestheader-username-headers': '[]',
    'requestheader-group-headers': 'damaged',
    more: 'stays',
  };
  t.same(combinedData(published, facts, now), {
    'client-ca-file': `${two}${one}`,
    'requestheader-client-ca-file': `${one}${two}`,
    'requestheader-allowed-names': '["another","front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    more: 'stays',
  });
});

t.test('publishing creates the ConfigMap or adds to it', async (t) => {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: [configmaps] });
  const { signal } = new AbortController();
  const publish = (clientCA: string | undefined) =>
    publishAuthentication({ client: api.client, clock }, { ...facts, clientCA }, signal);
  const namespace = dialect.namespaces.system;
  const read = () =>
    api.client.resource<ConfigMap>(configmaps).get('extension-apiserver-authentication', { namespace, signal });
  await publish(one);
  const first = await read();
  t.equal(first.data?.['client-ca-file'], one);
  await publish(one);
  t.equal(
    (await read()).metadata.resourceVersion,
    first.metadata.resourceVersion,
    'nothing is written without a change',
  );
  await publish(two);
  t.equal((await read()).data?.['client-ca-file'], `${one}${two}`);
});
