import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { componentstatuses } from '#api/core/v1/resources.gen.js';
import type { ComponentStatus } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import {
  type Component,
  ComponentStorage,
  localDaemon,
  storeComponent,
} from '#apiserver/componentstatus/component-storage.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

const fails = (name: string, why: string): Component => ({ name, check: () => Promise.reject(new Error(why)) });
const { type } = schemeFor(kubernetesDialect).resourceOf(componentstatuses);
const version = { kind: 'latest' } as const;

t.test('every read checks the components', async (t) => {
  let checks = 0;
  const etcd = storeComponent('etcd-0', {
    health: async () => {
      checks += 1;
    },
  });
  const storage = new ComponentStorage([fails('scheduler', 'gone'), etcd], type);
  const objects = async () =>
    (await storage.list({ scope: '', version })).entries.map((entry) => entry.object() as ComponentStatus);
  const expected = [
    {
      metadata: { name: 'etcd-0' },
      conditions: [{ type: 'Healthy', status: 'True', message: '{"health":"true","reason":""}' }],
    },
    { metadata: { name: 'scheduler' }, conditions: [{ type: 'Healthy', status: 'False', message: 'gone' }] },
  ];
  t.match(await objects(), expected);
  t.match(await objects(), expected);
  t.match(JSON.parse(String((await storage.get('scheduler', version))?.json())), {
    metadata: { creationTimestamp: null },
  });
  t.equal(checks, 2);
  t.match((await storage.get('scheduler', version))?.object(), expected[1] ?? {});
  t.equal(await storage.get('proxy', version), undefined);
  const { entries } = await storage.list({ scope: '', version, match: ({ key }) => key.endsWith('/etcd-0') });
  t.equal(entries.length, 1);
});

t.test('a daemon of this machine is checked by its /healthz', async (t) => {
  const authority = await createAuthority({ commonName: 'test', now: realClock.now() });
  const { certificate, privateKey } = await issueCertificate(authority, {
    subject: { commonName: 'x', organizations: [] },
    usages: ['server'],
    now: realClock.now(),
  });
  let status = 200;
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    response.statusCode = status;
    response.end(status === 200 ? `ok ${request.url}` : 'leaderElection failed');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const daemon = localDaemon('scheduler', port, realClock);
  const { signal } = new AbortController();
  t.equal(await daemon.check(signal), 'ok /healthz');
  status = 500;
  await t.rejects(daemon.check(signal), { message: 'leaderElection failed' });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await t.rejects(daemon.check(signal), { message: new RegExp(`127\\.0\\.0\\.1:${port}`) });
});
