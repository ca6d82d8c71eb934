/**
 * The programs of a KUBEBUILDER_ASSETS, started as envtest starts them, and the command line of `orch test`. The variable
 * ORCH_ENVTEST_ASSETS names a folder to test in place of bin/envtest, such as an unpacked archive; then only its programs are tested.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { identify } from '#cluster/process/identity.js';
import { root, run } from '#test/e2e/harness.js';
import { startEtcd } from '#test/etcd.js';
import { freePorts } from '#test/free-port.js';
import type { ClusterFacts } from '#testcluster/command/running-cluster.js';

t.setTimeout(180_000);

const unpacked = process.env['ORCH_ENVTEST_ASSETS'];
const assets = unpacked ?? join(root, 'bin', 'envtest');
const ofProject = { skip: unpacked === undefined ? false : 'not of the folder' };
const orch = join(root, 'bin', 'orch');

interface Program {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  /** Its output so far. */
  log(): string;
}

function start(t: Test, program: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const child = spawn('env', ['-u', 'NODE_OPTIONS', program, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      log += part;
    });
  }
  const exited = once(child, 'exit');
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  return { child, exited, log: () => log };
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly body: any;
}

function ask(port: number, path: string, token = '', body?: object, method = 'POST'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const content = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(content === '' ? {} : { 'content-type': 'application/json', 'content-length': String(content.length) }),
    };
    const options = { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false } as const;
    const outgoing = request({ ...options, method: body === undefined ? 'GET' : method }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => {
        const isJson = response.headers['content-type']?.includes('json') === true;
        resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : text });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(content);
  });
}

/** Asks until the answer is as expected, as envtest does. */
async function until(program: Program, check: () => Promise<boolean>): Promise<void> {
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(program.log());
    if (await check().catch(() => false)) return;
    await realClock.sleep(20);
  }
}

const isHealthy = (port: number) => async () => (await ask(port, '/healthz')).status === 200;

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'envtest-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(join(folder, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(join(folder, 'tokens.csv'), 'secret,admin,1,"system:masters"\n');
  return folder;
}

/** What envtest passes, with a token in place of its certificates. */
function apiServerFlags(folder: string, port: number, etcd: string): string[] {
  return [
    ...['--allow-privileged=true', '--authorization-mode=RBAC', '--bind-address=127.0.0.1', `--cert-dir=${folder}`],
    ...['--disable-admission-plugins=ServiceAccount', `--etcd-servers=${etcd}`, `--secure-port=${port}`],
    ...[`--service-account-issuer=https://127.0.0.1:${port}/`, `--service-account-key-file=${join(folder, 'sa.pub')}`],
    ...[`--service-account-signing-key-file=${join(folder, 'sa.key')}`, '--service-cluster-ip-range=10.0.0.0/24'],
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
  ];
}

async function startAssetsEtcd(t: Test, folder: string): Promise<{ readonly etcd: Program; readonly url: string }> {
  const [client = 0, peer = 0] = await freePorts(2);
  const url = `http://127.0.0.1:${client}`;
  const etcd = start(t, join(assets, 'etcd'), [
    ...[`--advertise-client-urls=${url}`, `--data-dir=${folder}/etcd`, `--listen-client-urls=${url}`],
    ...[`--listen-peer-urls=http://127.0.0.1:${peer}`, '--unsafe-no-fsync=true'],
  ]);
  await until(etcd, async () => (await fetch(`${url}/health`)).ok);
  return { etcd, url };
}

t.test('envtest starts an API server, which runs in the process of etcd', async (t) => {
  for (const [program, option] of [
    ['etcd', '--unsafe-no-fsync'],
    ['kube-apiserver', '--kubelet-client-certificate'],
  ] as const) {
    const { code, stdout } = await run(join(assets, program), ['--help']);
    t.equal(code, 0, `${program} has a help`);
    t.match(stdout, new RegExp(`^\\s*${option}\\b`, 'm'), `in which envtest finds ${option}`);
  }
  const folder = await folderOf(t);
  const { etcd, url } = await startAssetsEtcd(t, folder);
  const [port = 0] = await freePorts(1);
  const flags = apiServerFlags(folder, port, url);
  const first = start(t, join(assets, 'kube-apiserver'), [...flags, '--runtime-config=api/all=true', '-v=1']);
  await until(first, isHealthy(port));
  t.match(await ask(port, '/version'), { status: 200, body: { gitVersion: /^v1\.24/ } });
  t.match(await ask(port, '/apis/apps/v1', 'secret'), { status: 200, body: { groupVersion: 'apps/v1' } });
  const namespace = { metadata: { name: 'kept' } };
  t.match(await ask(port, '/api/v1/namespaces', 'secret', namespace), { status: 201 });
  t.match(await ask(port, '/test', 'secret'), { status: 200 }, 'a cluster for tests has its endpoints');
  t.notOk((await readFile(`/proc/${first.child.pid}/cmdline`, 'utf8')).includes('node'), 'its own process is a shell');
  const server = [`--server=https://127.0.0.1:${port}`, '--insecure-skip-tls-verify=true', '--token=secret'];
  const listed = await run(join(assets, 'kubectl'), [...server, 'get', 'namespaces', '-o', 'name'], { cwd: folder });
  t.match(listed, { code: 0, stdout: /^namespace\/kept$/m }, 'kubectl finds it');
  first.child.kill('SIGTERM');
  t.same(await first.exited, [0, null], 'it stops when it is told to');
  t.match(first.log(), /serving/, 'its log is written by its own process');
  const second = start(t, join(assets, 'kube-apiserver'), flags);
  await until(second, isHealthy(port));
  t.match(await ask(port, '/api/v1/namespaces/kept', 'secret'), { status: 200 }, 'objects outlast the API server');
  second.child.kill('SIGKILL');
  await second.exited;
  await until(etcd, () =>
    isHealthy(port)().then(
      () => false,
      () => true,
    ),
  );
  t.pass('one that is killed serves no longer');
  const wrong = await run(join(assets, 'kube-apiserver'), [...flags, '--nonsense']);
  t.match(wrong, { code: 1, stderr: /unknown flag: --nonsense/ });
  etcd.child.kill('SIGTERM');
  t.same(await etcd.exited, [0, null]);
});

t.test('beside another etcd, the API server is a process of its own; controllers and nodes run in it', async (t) => {
  const real = await startEtcd();
  t.teardown(() => real.stop());
  const folder = await folderOf(t);
  const [port = 0] = await freePorts(1);
  const env = {
    ORCH_TEST_CONTROLLERS: 'namespace,garbagecollector,serviceaccount,job,root-ca-cert-publisher',
    ORCH_TEST_NODES: '1',
  };
  const server = start(t, join(assets, 'kube-apiserver'), apiServerFlags(folder, port, real.endpoint), env);
  await until(server, isHealthy(port));
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  const annotations = { [`${kubernetesDialect.simulationPrefix}exit-after`]: '0s' };
  const annotated = { ...template, metadata: { annotations } };
  const job = { metadata: { name: 'a' }, spec: { template: annotated } };
  t.match(await ask(port, jobs, 'secret', job), { status: 201 });
  await until(server, async () => (await ask(port, `${jobs}/a`, 'secret')).body.status.succeeded === 1);
  t.pass('a Job ends');
  const map = async () => (await ask(port, '/api/v1/namespaces/default/configmaps/kube-root-ca.crt', 'secret')).body;
  await until(server, async () => (await map()).kind === 'ConfigMap');
  t.match((await map()).data['ca.crt'], /BEGIN CERTIFICATE/, 'pods trust the API server');
  await ask(port, '/api/v1/namespaces', 'secret', { metadata: { name: 'gone' } });
  await ask(port, '/api/v1/namespaces/gone', 'secret', {}, 'DELETE');
  await until(server, async () => (await ask(port, '/api/v1/namespaces/gone', 'secret')).status === 404);
  t.pass('a namespace goes');
  server.child.kill('SIGTERM');
  t.same(await server.exited, [0, null]);
});

t.test('orch test runs a command with a cluster and leaves nothing', ofProject, async (t) => {
  const script = 'echo "$KUBECONFIG $USE_EXISTING_CLUSTER $KUBEBUILDER_ASSETS"; "$1" get namespaces -o name; exit 7';
  const args = ['--controllers', 'none', '--', 'sh', '-c', script, 'sh', join(root, 'bin', 'orchctl')];
  const { code, stdout, stderr } = await run(orch, ['test', ...args]);
  t.equal(code, 7, `its exit code is the command's: ${stderr}`);
  const [variables = '', ...names] = stdout.trim().split('\n');
  const [kubeconfig = '', existing, folder] = variables.split(' ');
  t.match({ existing, folder }, { existing: 'true', folder: /bin\/envtest$/ });
  t.match(names, ['namespace/default'], 'the client finds the cluster');
  t.notOk(existsSync(kubeconfig), 'its files are removed');
  t.match(await run(orch, ['test', '--', '/nonsense']), { code: 127, stderr: /nonsense/ });
  t.match(await run(orch, ['test', '--controllers', 'nonsense', '--', 'true']), {
    code: 2,
    stderr: /unknown controller "nonsense"/,
  });
  t.match(await run(orch, ['test', '--controllers', 'none']), { code: 2, stderr: /no command follows the flags/ });
});

t.test('a killed orch test takes its command and its files with it', ofProject, async (t) => {
  const script = 'echo "$$ $KUBECONFIG"; exec sleep 600';
  const program = start(t, orch, ['test', '--controllers', 'none', '--', 'sh', '-c', script]);
  await until(program, async () => program.log().includes('kubeconfig'));
  const [pid = '', kubeconfig = ''] = program.log().trim().split(' ');
  t.ok(existsSync(kubeconfig));
  program.child.kill('SIGKILL');
  await program.exited;
  while (existsSync(kubeconfig) || identify(Number(pid)) !== undefined) await realClock.sleep(20);
  t.pass('a shell that outlasts it cleans up');
});

t.test('orch test start and stop serve programs of other languages', ofProject, async (t) => {
  const { stdout, stderr, code } = await run(orch, [
    'test',
    'start',
    '--controllers',
    'none',
    '--json',
    `--owner=${process.pid}`,
  ]);
  t.equal(code, 0, stderr);
  const facts = JSON.parse(stdout) as ClusterFacts;
  t.match(facts, { dialect: 'kubernetes', nodes: [], env: { USE_EXISTING_CLUSTER: 'true' } });
  const tls = { ca: facts.ca, cert: facts.clientCertificate, key: facts.clientKey };
  const status = await new Promise((resolve, reject) => {
    request(`${facts.url}/api/v1/namespaces`, { ...tls, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
  t.equal(status, 200, 'its certificates have all rights');
  t.match((await run(orch, ['test', 'list'])).stdout, facts.name);
  t.match(await run(orch, ['test', 'stop', facts.name]), { code: 0 });
  t.notOk(existsSync(facts.kubeconfig), 'its files are removed');
  t.equal(identify(facts.pid), undefined, 'its process has ended');
  t.match(await run(orch, ['test', 'stop', facts.name]), { code: 1, stderr: /there is no test cluster/ });
});
