/** Credentials that rotate, expire or are refused, against an API server that checks them: no request fails. */
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { namespaces } from '#api/core/v1/resources.gen.js';
import { realClock as clock, formatTime } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { hasReason } from '#apimachinery/errors/status.js';
import type { User } from '#client/kubeconfig/file.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { Connection } from '#client/rest/connection.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { startApi } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

/** Long enough for a loaded machine to use the certificate. */
const shortLifeMs = 3000;

async function temporary(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

const authority = await createAuthority({ commonName: 'clients', now: clock.now() });
const clientCA = join(await temporary(t), 'clients.crt');
await writeFile(clientCA, authority.certificate);
const api = await startApi(t, { dialect, args: [`--client-ca-file=${clientCA}`] });
const ca = join(api.folder, 'apiserver.crt');

async function setUp(t: Test) {
  const folder = await temporary(t);
  /** A certificate of an administrator. */
  const certificate = async (validityMs: number) => {
    const subject = { commonName: 'it', organizations: [dialect.groups.masters] };
    return issueCertificate(authority, { subject, usages: ['client'], now: clock.now(), validityMs });
  };
  const connect = async (user: User): Promise<{ client: RestClient; metrics: Registry }> => {
    const file = join(folder, 'config');
    const config = {
      clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${api.port}`, 'certificate-authority': ca } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(file, JSON.stringify(config));
    const metrics = new Registry();
    const loaded = await loadKubeconfig(file, { clock, env: { PATH: process.env['PATH'] }, metrics });
    const contentType = dialect.protobufMediaType;
    const options = { dialect, clock, program: 'test', qps: 0, burst: 1, metrics, contentType };
    const connection = new Connection(loaded, options);
    t.teardown(() => connection.close());
    return { client: connection.client('credentials'), metrics };
  };
  return { folder, certificate, connect };
}

/** Replaces the file atomically, as file rotation does. */
async function put(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** A plugin that prints `answer`, or a file for the n-th call, and counts its calls. */
async function plugin(folder: string) {
  const path = join(folder, 'plugin.sh');
  const answer = join(folder, 'answer');
  const calls = join(folder, 'calls');
  await writeFile(
    path,
    `#!/bin/sh\necho called >> ${calls}\ncat ${answer}.$(wc -l < ${calls}) 2>/dev/null || cat ${answer}\n`,
  );
  await chmod(path, 0o755);
  const apiVersion = `client.authentication.${dialect.apiDomain}/v1`;
  return {
    user: { exec: { apiVersion, command: './plugin.sh', interactiveMode: 'Never' } } satisfies User,
    answers: (status: object, call?: number) => {
      const file = call === undefined ? answer : `${answer}.${call}`;
      return put(file, JSON.stringify({ kind: 'ExecCredential', apiVersion, status }));
    },
    calls: async () => (await readFile(calls, 'utf8')).split('called').length - 1,
  };
}

/** Sends requests, some concurrently, until the given time. */
async function busyUntil(client: RestClient, instantMs: number): Promise<void> {
  do {
    await Promise.all([1, 2, 3].map(() => client.resource(namespaces).list()));
    await clock.sleep(50);
  } while (clock.now() < instantMs);
}

async function refusals(metrics: Registry): Promise<number> {
  const text = await metrics.metrics();
  return Number(/rest_client_requests_total\{code="401"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
}

t.test('a plugin returns another certificate when the first one expires', async (t) => {
  const { folder, certificate, connect } = await setUp(t);
  const { user, answers, calls } = await plugin(folder);
  const status = async (validityMs: number) => {
    const { certificate: cert, privateKey } = await certificate(validityMs);
    const expirationTimestamp = formatTime(clock.now() + validityMs);
    return { clientCertificateData: cert, clientKeyData: privateKey, expirationTimestamp };
  };
  await answers(await status(shortLifeMs));
  const { client, metrics } = await connect(user);
  await client.resource(namespaces).list();
  await answers(await status(3_600_000));
  await busyUntil(client, clock.now() + shortLifeMs + 1500);
  t.equal(await calls(), 2);
  t.equal(await refusals(metrics), 0);
  t.match(await metrics.metrics(), 'rest_client_exec_plugin_certificate_rotation_age_count 1');
});

t.test('a refused credential is replaced within the request', async (t) => {
  const { folder, connect } = await setUp(t);
  const { user, answers, calls } = await plugin(folder);
  await answers({ token: 'revoked' }, 1);
  await answers({ token: 'root' });
  const { client, metrics } = await connect(user);
  const lists = await Promise.all([1, 2, 3].map(() => client.resource(namespaces).list()));
  t.ok(lists.every(({ items }) => items.length > 0));
  t.equal(await refusals(metrics), 0);
  const callsBefore = await calls();
  t.ok(callsBefore === 2 || callsBefore === 3, `called ${callsBefore} times for three requests at once`);
  await client.resource(namespaces).list();
  t.equal(await calls(), callsBefore);
});

t.test('a rotated token file is read again', async (t) => {
  const { folder, connect } = await setUp(t);
  const file = join(folder, 'token');
  await put(file, 'root');
  const { client } = await connect({ tokenFile: 'token' });
  await client.resource(namespaces).list();
  await put(file, 'stranger');
  await client.resource(namespaces).list();
  const other = await connect({ tokenFile: 'token' });
  t.ok(
    hasReason(
      await other.client
        .resource(namespaces)
        .list()
        .catch((error: unknown) => error),
      'Unauthorized',
    ),
    'a token that stays wrong',
  );
  await put(file, 'root');
  t.ok((await other.client.resource(namespaces).list()).items.length > 0, 'without waiting for a minute');
});

t.test('renewed certificate files are read again', async (t) => {
  const { folder, certificate, connect } = await setUp(t);
  const write = async (validityMs: number) => {
    const { certificate: cert, privateKey } = await certificate(validityMs);
    await put(join(folder, 'client.crt'), cert);
    await put(join(folder, 'client.key'), privateKey);
  };
  await write(shortLifeMs);
  const { client, metrics } = await connect({ 'client-certificate': 'client.crt', 'client-key': 'client.key' });
  await client.resource(namespaces).list();
  await write(3_600_000);
  await busyUntil(client, clock.now() + shortLifeMs + 1500);
  t.equal(await refusals(metrics), 0);
});
