/** All TLS clients trust the server's own certificate in a bundle, although another authority signed it. */

import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import { ServiceUnreachableError } from '#apiserver/service-routing/service-resolver.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';
import { sharedLookup } from '#apiserver/webhooks/shared-lookup.js';
import { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import { staticTls } from '#http/client/credentials.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';

const now = clock.now();
const authority = await createAuthority({ commonName: 'unpublished-authority', now });
const another = await createAuthority({ commonName: 'another', now });
const subject = { commonName: 'server', organizations: [] };
const certificate = await issueCertificate(authority, {
  ...{ subject, names: ['localhost'], ips: ['127.0.0.1'], now },
  usages: ['server', 'client'],
});
const own = certificate.certificate;

async function serve(t: Test): Promise<number> {
  const server: Server = createServer({ cert: own, key: certificate.privateKey }, (_request, response) =>
    response.end('{}'),
  );
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

t.test('admission and conversion webhooks', async (t) => {
  const port = await serve(t);
  const client = new WebhookClient({
    clock,
    resolve: () => Promise.reject(new ServiceUnreachableError('no services')),
    lookup: sharedLookup((name) => lookup(name, { all: true })),
    userAgent: 'test',
    maxCalls: 10,
  });
  t.teardown(() => client.close());
  const user = { tls: staticTls({}), token: undefined };
  for (const credentials of [undefined, { users: new Map([['*', user]]) }]) {
    const post = (bundle: string) => {
      const caBundle = Buffer.from(bundle).toString('base64');
      const config = { url: `https://127.0.0.1:${port}/`, caBundle };
      const call = { config, body: Buffer.from('{}'), timeoutMs: 20_000 };
      return client.post(credentials === undefined ? call : { ...call, credentials });
    };
    t.same(await post(own), {});
    await t.rejects(post(another.certificate));
  }
});

t.test('clients with a configuration, and OpenID providers', async (t) => {
  const port = await serve(t);
  const ask = async (ca: string) => {
    const transport = new HttpTransport({ server: `https://127.0.0.1:${port}`, clock, tls: staticTls({ ca }) });
    t.teardown(() => transport.close());
    const { body } = await transport.request({ method: 'GET', path: '/', headers: {} });
    return (await readAll(body)).toString();
  };
  t.equal(await ask(own), '{}');
  await t.rejects(ask(another.certificate));
});

t.test('extension API servers and node agents', async (t) => {
  const port = await serve(t);
  const { signal } = new AbortController();
  const ask = (ca: string) => {
    const backend = { host: '127.0.0.1', port, tls: { ca } };
    return openRequest({ backend, method: 'GET', path: '/', headers: {}, signal });
  };
  t.equal((await ask(own)).resume().statusCode, 200);
  await t.rejects(ask(another.certificate));
});

t.test('etcd', async (t) => {
  const tls = { ca: authority.certificate, certificate: own, privateKey: certificate.privateKey };
  const etcd = await startEtcd({ tls });
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({
    ...{ endpoints: [etcd.endpoint], clock, random: Math.random },
    tls: { ca: own, cert: own, key: certificate.privateKey },
  });
  t.teardown(() => store.close());
  t.equal(typeof (await store.currentRevision()), 'bigint');
});

t.test('a client certificate in the bundle', async (t) => {
  const certificate = new X509Certificate(own);
  t.ok(new CertificatePool({ bundle: own, clock }).verify(certificate.raw).ok);
  t.notOk(new CertificatePool({ bundle: another.certificate, clock }).verify(certificate.raw).ok);
  t.ok(new CertificateAuthorities(own).verifies(certificate, now));
  t.notOk(new CertificateAuthorities(another.certificate).verifies(certificate, now));
});
