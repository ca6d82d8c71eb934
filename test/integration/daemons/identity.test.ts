/**
 * The controllers of certificates and tokens in a separate controller manager, each with its own account and the rights of
 * the default roles.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { certificatesigningrequests as requests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { configmaps, namespaces, secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { clusterrolebindings } from '#api/rbac/v1/resources.gen.js';
import { realClock as clock, formatTime } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { bootstrapToken } from '#controllers/bootstrapsigner/testing/tokens.js';
import {
  nodeClientUsages,
  nodeServingUsages,
  nodeSubject,
  type SigningRequestOptions,
  signingRequest,
} from '#controllers/certificates/testing/requests.js';
import { productOption } from '#daemon/options/dialect-names.js';
import { createAuthority, type KeyCertificate } from '#pki/certificate.js';
import { generateEcKey, privateKeyToPem } from '#pki/keys.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { type DaemonTest, ended, startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(240_000);

const hourMs = 3600_000;
const namespace = 'shop';
const signers = ['orch-apiserver-client', 'nodeagent-client', 'nodeagent-serving', 'legacy-unknown'] as const;

interface IdentityTest extends DaemonTest {
  readonly authorities: Readonly<Record<(typeof signers)[number], KeyCertificate>>;
  /** Starts the manager with the authorities; the result stops it and resolves with its log. */
  startManager(): () => Promise<string>;
}

async function setUp(t: Test, dialect: Dialect): Promise<IdentityTest> {
  const folder = await mkdtemp(join(tmpdir(), 'identity-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const entries: [string, KeyCertificate][] = [];
  const args: string[] = [];
  for (const signer of signers) {
    const authority = await createAuthority({ commonName: signer, now: clock.now() });
    entries.push([signer, authority]);
    const option = productOption(dialect, `cluster-signing-${signer}`);
    args.push(`--${option}-cert-file=${await file(`${signer}.crt`, authority.certificate)}`);
    args.push(`--${option}-key-file=${await file(`${signer}.key`, authority.privateKey)}`);
  }
  const authorities = Object.fromEntries(entries) as IdentityTest['authorities'];
  const clients = authorities['orch-apiserver-client'].certificate + authorities['nodeagent-client'].certificate;
  const etcd = existsSync('/usr/bin/etcd') ? await startEtcd() : undefined;
  if (etcd !== undefined) t.teardown(() => etcd.stop());
  const test = await startApi(t, {
    dialect,
    args: [`--client-ca-file=${await file('clients.crt', clients)}`],
    ...(etcd === undefined ? {} : { store: new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random }) }),
  });
  const rootCA = await file('root.crt', authorities['legacy-unknown'].certificate);
  const startManager = () => {
    const child = test.start('orch-controller-manager', [
      `--dialect=${dialect.name}`,
      `--${dialect.shortName}config=${test.managerConfig}`,
      '--secure-port=0',
      '--leader-elect=false',
      '--controllers=*,bootstrapsigner,tokencleaner',
      '--use-service-account-credentials',
      '--cluster-signing-duration=48h',
      `--root-ca-file=${rootCA}`,
      `--service-account-private-key-file=${join(test.folder, 'sa.key')}`,
      ...args,
    ]);
    let log = '';
    child.stderr?.on('data', (part: Buffer) => {
      log += part.toString();
    });
    return async () => {
      child.kill('SIGTERM');
      t.equal(await ended(child), 0);
      return log;
    };
  };
  return { ...test, authorities, startManager };
}

/** The answer of the server to these credentials: the status, and the user that it names. */
function whoami(
  port: number,
  credentials: { readonly cert?: string; readonly key?: string; readonly token?: string },
): Promise<{ readonly status: number; readonly text: string }> {
  const { cert, key, token } = credentials;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/api/v1/nodes', rejectUnauthorized: false, agent: false };
    const call = httpsRequest({ ...options, cert, key, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on('error', reject);
    call.end();
  });
}

const decoded = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString();

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`certificates, ${dialect.name} dialect`, async (t) => {
    const test = await setUp(t, dialect);
    const { client, authorities, port } = test;
    const csrs = client.resource(requests);
    const make = async (name: string, signer: keyof Dialect['signers'], options: SigningRequestOptions) =>
      csrs.create(await signingRequest(name, dialect.signers[signer], options));
    const decide = (request: CertificateSigningRequest, type: string, lastUpdateTime?: string) => {
      const condition = { type, status: 'True', ...(lastUpdateTime === undefined ? {} : { lastUpdateTime }) };
      return csrs.update({ ...request, status: { conditions: [condition] } }, { subresource: 'approval' });
    };
    const issued = async (name: string) => {
      await until(`the certificate of ${name}`, async () => (await csrs.get(name)).status?.certificate !== undefined);
      return decoded((await csrs.get(name)).status?.certificate);
    };
    const isSignedBy = (pem: string, signer: (typeof signers)[number]) =>
      new X509Certificate(pem).verify(new X509Certificate(authorities[signer].certificate).publicKey);

    const denied = await make('denied', 'apiServerClient', {});
    await decide(denied, 'Denied', formatTime(clock.now() - 2 * hourMs));
    const stop = test.startManager();

    const keys = await generateEcKey();
    const subject = { commonName: 'jane', organizations: ['dev'] };
    const jane = await make('jane', 'apiServerClient', { keys, subject, spec: { expirationSeconds: 3600 } });
    await decide(jane, 'Approved');
    const certificate = await issued('jane');
    t.ok(isSignedBy(certificate, 'orch-apiserver-client'));
    const { validFrom, validTo } = new X509Certificate(certificate);
    t.equal(Date.parse(validTo) - Date.parse(validFrom), hourMs + 300_000);
    const answer = await whoami(port, { cert: certificate, key: privateKeyToPem(keys.privateKey) });
    t.match(answer, { status: 403, text: /User \\"jane\\" cannot list/ }, 'by which its owner is known');

    const serving = { subject: nodeSubject, dns: ['n1'], ips: ['10.0.0.1'], spec: { usages: nodeServingUsages } };
    await decide(await make('serving', 'nodeAgentServing', serving), 'Approved');
    const served = new X509Certificate(await issued('serving'));
    t.ok(isSignedBy(served.toString(), 'nodeagent-serving'));
    t.equal(served.subjectAltName, 'DNS:n1, IP Address:10.0.0.1');
    t.equal(Date.parse(served.validTo) - Date.parse(served.validFrom), 48 * hourMs, 'as long as the manager gives');

    await decide(await make('wrong', 'apiServerClient', { spec: { usages: ['server auth'] } }), 'Approved');
    await until('a refusal', async () => (await csrs.get('wrong')).status?.conditions?.length === 2);
    t.match((await csrs.get('wrong')).status, {
      conditions: [
        { type: 'Approved' },
        {
          type: 'Failed',
          reason: 'SignerValidationFailure',
          message: 'invalid usage for client certificate: server auth',
        },
      ],
    });

    const apiGroup = dialect.groupName('rbac');
    const prefix = `system:${dialect.groupName('certificates')}:certificatesigningrequests:`;
    for (const name of ['system:node-bootstrapper', `${prefix}selfnodeclient`]) {
      await client.resource(clusterrolebindings).create({
        metadata: { name: `test-${name}` },
        roleRef: { apiGroup, kind: 'ClusterRole', name },
        subjects: [{ kind: 'Group', apiGroup, name: dialect.groups.nodes }],
      });
    }
    const user = { name: nodeSubject.commonName, groups: [dialect.groups.nodes, dialect.groups.authenticated] };
    const transport = new InProcessTransport({ handler: test.api.handler, user });
    const node = new RestClient({ transport, dialect, clock });
    t.teardown(() => node.close());
    const own = { subject: nodeSubject, spec: { usages: nodeClientUsages } };
    const request = await signingRequest('node', dialect.signers.apiServerClientNodeAgent, own);
    await until('the node may ask', async () => {
      await node.resource(requests).create(request);
      return true;
    });
    t.ok(isSignedBy(await issued('node'), 'nodeagent-client'), 'approved without a human');
    t.match((await csrs.get('node')).status?.conditions, [
      {
        type: 'Approved',
        reason: 'AutoApproved',
        message: `Auto approving self ${dialect.components.nodeAgent} client certificate after SubjectAccessReview.`,
      },
    ]);
    await make('for-others', 'apiServerClientNodeAgent', own);
    await issued('for-others');
    const { nodeAgent } = dialect.components;
    t.match((await csrs.get('for-others')).status?.conditions, [
      { message: `Auto approving ${nodeAgent} client certificate after SubjectAccessReview.` },
    ]);

    await until('old requests are cleaned', () => csrs.get('denied').then(() => false, isNotFound));
    t.notMatch(await stop(), /forbidden/i);
  });

  t.test(`tokens, ${dialect.name} dialect`, async (t) => {
    const test = await setUp(t, dialect);
    const { client, authorities, port } = test;
    const stop = test.startManager();
    const where = { namespace };
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    const { metadata: account } = await client
      .resource(serviceaccounts)
      .create({ metadata: { name: 'web', ...where } });
    const make = (name: string): Secret => ({
      metadata: { name, ...where, annotations: { [dialect.annotations.serviceAccountName]: 'web' } },
      type: dialect.secretTypes.serviceAccountToken,
    });
    const get = (name: string) => client.resource(secrets).get(name, where);
    const filled = async (name: string) => {
      await client.resource(secrets).create(make(name));
      await until(`the token of ${name}`, async () => (await get(name)).data?.['token'] !== undefined);
      return get(name);
    };
    const isGone = (name: string) => () => get(name).then(() => false, isNotFound);
    const secret = await filled('own');
    t.equal(decoded(secret.data?.['namespace']), namespace);
    t.equal(decoded(secret.data?.['ca.crt']), authorities['legacy-unknown'].certificate);
    t.equal(secret.metadata.annotations?.[dialect.annotations.serviceAccountUID], account.uid);
    const token = decoded(secret.data?.['token']);
    const answer = await whoami(port, { token });
    t.match(answer, { status: 403, text: /User \\"system:serviceaccount:shop:web\\" cannot list/ });
    await filled('other');
    await client.resource(secrets).delete('own', where);
    await until('its token is good for nothing', async () => (await whoami(port, { token })).status === 401);
    await client.resource(serviceaccounts).delete('web', where);
    await until('tokens go with their account', isGone('other'));
    const accounts = await client.resource(serviceaccounts).list(where);
    t.same(
      accounts.items.map(({ secrets: held }) => held),
      [undefined],
      'accounts get none by themselves',
    );

    const open = dialect.namespaces.public;
    await client.resource(secrets).create(bootstrapToken(dialect, 'abcdef'));
    await client.resource(configmaps).create({
      metadata: { name: 'cluster-info', namespace: open },
      data: { [`${dialect.shortName}config`]: 'what strangers are told' },
    });
    await until('a signature', async () => {
      const { data } = await client.resource(configmaps).get('cluster-info', { namespace: open });
      return data?.[`jws-${dialect.shortName}config-abcdef`]?.includes('..') === true;
    });
    const expiration = formatTime(clock.now() + 2000);
    await client.resource(secrets).create(bootstrapToken(dialect, 'fedcba', { expiration }));
    const system = dialect.namespaces.system;
    await until('it ends', () =>
      client
        .resource(secrets)
        .get('bootstrap-token-fedcba', { namespace: system })
        .then(() => false, isNotFound),
    );
    t.notMatch(await stop(), /forbidden/i);
  });
}
