/** The controller manager as a separate process, against a real API server over HTTPS. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, namespaces, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { startServer } from '#test/integration/apiserver/server.js';

const main = fileURLToPath(import.meta.resolve('#cmd/orch-controller-manager/main.js'));

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (const deadline = clock.monotonic() + 60_000; clock.monotonic() < deadline; await clock.sleep(50)) {
    try {
      if (await ask()) return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  throw new Error(`never: ${what}`);
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

t.test('leads, runs controllers, and releases its lease', async (t) => {
  const authority = await createSelfSigned({
    commonName: 'test',
    names: ['localhost'],
    ips: ['127.0.0.1'],
    now: clock.now(),
  });
  const tls = { cert: authority.certificate, key: authority.privateKey };
  const server = await startServer(t, {
    dialect,
    options: { shutdownGraceMs: 1000, listen: { host: '127.0.0.1', port: 0, tls } },
  });
  const user = { name: 'tester', groups: [dialect.groups.masters] };
  const client = new RestClient({
    transport: new InProcessTransport({ handler: server.handler, user }),
    dialect,
    clock,
  });
  const folder = await mkdtemp(join(tmpdir(), 'controller-manager-'));
  const config = join(folder, 'config');
  const rootCA = join(folder, 'ca.crt');
  const kubeconfig = singleContext({
    server: `https://127.0.0.1:${server.address?.port}`,
    clusterName: 'test',
    userName: 'test',
    ca: authority.certificate,
    clientCertificate: authority.certificate,
    clientKey: authority.privateKey,
  });
  await writeFile(config, formatKubeconfig(kubeconfig));
  await writeFile(rootCA, authority.certificate);
  const start = () =>
    spawn(
      process.execPath,
      [main, '--dialect=kubernetes', `--kubeconfig=${config}`, `--root-ca-file=${rootCA}`, '--secure-port=0'],
      { stdio: 'ignore' },
    );
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(ended));
    await client.close();
    await rm(folder, { recursive: true });
  });
  const holder = async () => {
    const lock = { namespace: dialect.namespaces.system };
    return (await client.resource(leases).get(dialect.components.controllerManager, lock)).spec?.holderIdentity ?? '';
  };
  const first = start();
  children.push(first);
  await until('a manager leads', async () => (await holder()) !== '');
  const leader = await holder();
  await client.resource(namespaces).create({ metadata: { name: 'a' }, spec: {} });
  await until(
    'an account',
    async () => (await client.resource(serviceaccounts).get('default', { namespace: 'a' })) !== undefined,
  );
  await until('a certificate', async () => {
    const map = await client.resource(configmaps).get(dialect.rootCAConfigMap, { namespace: 'a' });
    return map.data?.['ca.crt'] === authority.certificate;
  });
  const second = start();
  children.push(second);
  first.kill('SIGTERM');
  t.equal(await ended(first), 0);
  await until('the other leads', async () => !['', leader].includes(await holder()));
  await client.resource(namespaces).create({ metadata: { name: 'b' }, spec: {} });
  await until(
    'its work',
    async () => (await client.resource(serviceaccounts).get('default', { namespace: 'b' })) !== undefined,
  );
  second.kill('SIGTERM');
  t.equal(await ended(second), 0);
});

t.test('reports invalid options', async (t) => {
  const child = spawn(process.execPath, [main, '--controllers=nonsense', '--orchconfig=/nowhere'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  t.equal(await ended(child), 1);
  t.match(text, /"nonsense" is not in the list of known controllers/);
});
