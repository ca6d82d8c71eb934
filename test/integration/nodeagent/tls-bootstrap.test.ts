/**
 * Node agents that join with a bootstrap token, get certificates from the cluster, and are killed at various moments.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes, secrets } from '#api/core/v1/resources.gen.js';
import {
  bootstrapTokenName,
  bootstrapTokenSecret,
  bootstrapTokenUsages,
  joiningGroup,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { clusterrolebindings } from '#api/rbac/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { formatKubeconfig, parseKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { setUpJoiningAccess } from '#cluster/objects/joining-access.js';
import { until } from '#test/integration/daemons/api.js';

const token = { id: 'abcdef', secret: '0123456789abcdef' };

t.test('nodes that join with a token', { timeout: 120_000 }, async (t) => {
  const cluster = await startCluster({ nodes: 0, listen: true });
  const { client, dialect } = cluster;
  const folder = await mkdtemp(join(tmpdir(), 'joining-'));
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    await Promise.all(children.map(killed));
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });
  await setUpJoiningAccess(client);
  const secret = bootstrapTokenSecret(dialect, {
    ...{ token, description: '', usages: bootstrapTokenUsages, groups: [joiningGroup(dialect)] },
    expiresAt: realClock.now() + 3_600_000,
  });
  await client.resource(secrets).create(secret);
  const [entry] = parseKubeconfig(cluster.kubeconfig()).clusters;
  const ca = Buffer.from(entry?.cluster['certificate-authority-data'] ?? '', 'base64').toString();
  const server = entry?.cluster.server ?? '';
  const bootstrapFile = join(folder, 'bootstrap.config');
  const text = formatKubeconfig(
    singleContext({ server, ca, clusterName: 'c', userName: 'joining', token: `${token.id}.${token.secret}` }),
  );
  await writeFile(bootstrapFile, text, { mode: 0o600 });
  const dir = (name: string, ...path: string[]) => join(folder, name, ...path);
  const start = (name: string): ChildProcess => {
    const options = {
      dialect: dialect.name,
      'bootstrap-kubeconfig': bootstrapFile,
      kubeconfig: dir(name, 'client.config'),
      'rotate-certificates': true,
      'rotate-server-certificates': true,
      'cert-dir': dir(name, 'pki'),
      'root-dir': dir(name),
      'pod-logs-dir': dir(name, 'logs'),
      'hostname-override': name,
      'node-ip': name === 'n1' ? '127.0.0.1' : '127.0.0.2',
      'container-runtime-endpoint': 'simulated',
      'anonymous-auth': false,
      'healthz-port': 0,
      'read-only-port': 0,
      'orch-api-qps': 50,
      'orch-api-burst': 100,
      port: 0,
    };
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    const main = fileURLToPath(import.meta.resolve('#cmd/nodeagent/main.js'));
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    children.push(child);
    child.stderr?.on('data', (part: Buffer) => log.push(part.toString()));
    return child;
  };
  const log: string[] = [];
  t.teardown(() => {
    if (!t.passing()) process.stderr.write(log.join(''));
  });
  const node = async (name: string): Promise<Node | undefined> => {
    const { items } = await client.resource(nodes).list();
    return items.find(({ metadata }) => metadata.name === name);
  };
  const ready = (name: string) =>
    until(`${name} Ready`, async () => {
      const object = await node(name);
      return object !== undefined && isNodeReady(object);
    });
  const requestsOf = async (name: string): Promise<CertificateSigningRequest[]> => {
    const { items } = await client.resource(certificatesigningrequests).list();
    const user = `${dialect.users.nodePrefix}${name}`;
    return items.filter(({ spec }) => {
      const pem = Buffer.from(spec.request, 'base64').toString();
      return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64').includes(user);
    });
  };

  await t.test('both certificates are requested, approved and used', async (t) => {
    start('n1');
    await ready('n1');
    const port = (await node('n1'))?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    await until('the port serves a certificate of the cluster', () => serves(port, ca));
    const requests = await requestsOf('n1');
    const { signers, components } = dialect;
    const expectedSigners = [signers.apiServerClientNodeAgent, signers.nodeAgentServing];
    t.same(requests.map(({ spec }) => spec.signerName).sort(), expectedSigners.sort());
    const first = requests.find(({ spec }) => spec.signerName === signers.apiServerClientNodeAgent);
    t.match(first?.metadata.name, /^node-csr-/);
    t.equal(first?.spec.username, `system:bootstrap:${token.id}`);
    const own = parseKubeconfig(await readFile(dir('n1', 'client.config'), 'utf8'));
    const link = dir('n1', 'pki', `${components.nodeAgent}-client-current.pem`);
    t.match(own.users, [
      { name: 'default-auth', user: { 'client-certificate': link, 'client-key': link, token: undefined } },
    ]);
    t.match(await realpath(link), /-client-\d{4}(-\d\d){5}\.pem$/);
  });

  await t.test('a registered node needs no token', async (t) => {
    await client.resource(secrets).delete(bootstrapTokenName(token.id), { namespace: dialect.namespaces.system });
    await killed(children.at(-1));
    await client.resource(nodes).delete('n1');
    start('n1');
    await ready('n1');
    t.equal((await requestsOf('n1')).length, 2, 'no new requests');
    await client.resource(secrets).create(secret);
  });

  await t.test('requests made before a kill are not repeated', async (t) => {
    const approvals = `${dialect.product}:node-autoapprove-bootstrap`;
    const bindings = client.resource(clusterrolebindings);
    const binding = await bindings.get(approvals);
    await bindings.delete(approvals);
    start('n2');
    await until('n2 has sent a request', async () => (await requestsOf('n2')).length > 0);
    await killed(children.at(-1));
    log.length = 0;
    start('n2');
    await until('n2 continues its request', async () => log.some((line) => line.includes('requesting certificate')));
    const { resourceVersion: _, uid: __, ...metadata } = binding.metadata;
    await bindings.create({ ...binding, metadata });
    await ready('n2');
    const clients = (await requestsOf('n2')).filter(
      ({ spec }) => spec.signerName === dialect.signers.apiServerClientNodeAgent,
    );
    t.equal(clients.length, 1);
    await t.rejects(readFile(dir('n2', 'pki', `${dialect.components.nodeAgent}-client.key.tmp`)), { code: 'ENOENT' });
  });
});

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Whether the loopback port serves a certificate signed by the authority for its address. */
function serves(port: number, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', ca }, () => {
      socket.destroy();
      resolve(socket.authorized);
    });
    socket.once('error', () => resolve(false));
  });
}
