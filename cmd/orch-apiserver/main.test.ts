import { spawn } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';

const program = fileURLToPath(new URL('main.js', import.meta.url));
/** The bundled program, whose files must find each other. */
const bundled = fileURLToPath(new URL('../../bundle/orch-apiserver/main.js', import.meta.url));

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly body: any;
}

interface Target {
  readonly port: number;
  readonly ca: string;
}

function ask({ port, ca }: Target, path: string, token = 'secret', body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const type = typeof body === 'string' ? 'application/yaml' : 'application/json';
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const method = body === undefined ? 'GET' : 'POST';
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, ca, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const json = response.headers['content-type']?.includes('json') === true;
        resolve({ status: response.statusCode ?? 0, body: json ? JSON.parse(text) : text });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

async function startProgram(t: Test, argv: readonly string[], port: number, certDir: string, file = program) {
  const child = spawn(process.execPath, [file, ...argv], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
  });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await exited;
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(log);
    try {
      const ca = await readFile(join(certDir, 'apiserver.crt'), 'utf8');
      const { status } = await ask({ port, ca }, '/readyz');
      if (status === 200) return { child, exited, target: { port, ca } };
    } catch {
      // The server does not listen yet.
    }
    await realClock.sleep(50);
  }
}

t.test('the program is a complete API server on an etcd', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const directory = await mkdtemp(join(tmpdir(), 'apiserver-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = (name: string) => join(directory, name);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(file('tokens.csv'), 'secret,admin,1,"system:masters"\nother,alice,2\n');
  await writeFile(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const port = await freePort();
  const argv = [
    ...['--etcd-servers', etcd.endpoint, '--bind-address', '127.0.0.1', '--secure-port', String(port)],
    ...['--cert-dir', file('certs'), '--token-auth-file', file('tokens.csv'), '--authorization-mode', 'Node,RBAC'],
    ...['--service-account-issuer', 'https://127.0.0.1', '--service-account-signing-key-file', file('sa.key')],
    ...['--service-account-key-file', file('sa.pub'), '--service-cluster-ip-range', '10.0.0.0/24'],
  ];
  const first = await startProgram(t, argv, port, file('certs'));
  const { target } = first;
  t.ok(new X509Certificate(target.ca).checkIP('127.0.0.1'));
  const scope = '/api/v1/namespaces/default';
  t.equal((await ask(target, `${scope}/services/orch`)).body.spec.clusterIP, '10.0.0.1');
  t.equal((await ask(target, '/api/v1/nodes', 'other')).status, 403);
  t.equal((await ask(target, '/api/v1/nodes', 'wrong')).status, 401);
  const account = { metadata: { name: 'default' } };
  t.equal((await ask(target, `${scope}/serviceaccounts`, 'secret', account)).status, 201);
  const created = await ask(target, `${scope}/services`, 'secret', {
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }] },
  });
  t.match(created.body.spec.clusterIP, /^10\.0\.0\.\d+$/);
  const token = (await ask(target, `${scope}/serviceaccounts/default/token`, 'secret', { spec: {} })).body.status.token;
  t.match((await ask(target, '/openid/v1/jwks', token)).body, { keys: [{ kty: 'RSA', alg: 'RS256' }] });
  first.child.kill('SIGTERM');
  t.same(await first.exited, [0, null]);

  const second = await startProgram(t, argv, port, file('certs'), bundled);
  t.equal(second.target.ca, target.ca, 'the certificate is kept');
  t.equal((await ask(second.target, `${scope}/services/web`)).body.spec.clusterIP, created.body.spec.clusterIP);
  const conflicting = {
    metadata: { name: 'again' },
    spec: { clusterIP: created.body.spec.clusterIP, ports: [{ port: 80 }] },
  };
  t.equal((await ask(second.target, `${scope}/services`, 'secret', conflicting)).status, 422);
  const lines = Array.from({ length: 10_000 }, (_, i) => `  key${i}: "value ${i}"\n`).join('');
  const large = await ask(second.target, `${scope}/configmaps`, 'secret', `metadata: {name: large}\ndata:\n${lines}`);
  t.equal(large.status, 201, 'its thread reads large YAML bodies');
  t.equal(large.body.data.key9999, 'value 9999');
  second.child.kill('SIGTERM');
  await second.exited;
});

t.test('an invalid option ends the program at once', async (t) => {
  const child = spawn(process.execPath, [program, '--authorization-mode', 'Nonsense'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  t.same(await once(child, 'exit'), [1, null]);
  t.match(text, /authorization-mode/);
});
