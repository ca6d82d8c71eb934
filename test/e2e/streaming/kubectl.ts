/** Streams of one kubectl to a real container. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { eventually, Running, type RunOptions, type RunResult, type TestCluster } from '#test/e2e/harness.js';

const megabyte = 1024 * 1024;

export interface KubectlOptions {
  readonly cluster: TestCluster;
  readonly kubectl: string;
  /** Amount of data sent through exec. */
  readonly megabytes: number;
  /** A pod that serves a megabyte at `:8080/big`. */
  readonly pod: string;
  /** A Service of the pod, whose port for it has the name `web`. */
  readonly service: string;
  readonly image: string;
}

export async function kubectlStreams(t: Test, options: KubectlOptions): Promise<void> {
  const { cluster, kubectl, pod } = options;
  const directory = mkdtempSync(join(tmpdir(), 'streams-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const run = (args: readonly string[], more: RunOptions = {}) => cluster.client(kubectl, args, more);
  const shell = (command: string) =>
    cluster.client('bash', ['-o', 'pipefail', '-c', command], { env: { K: kubectl }, cwd: directory });

  t.match(await run(['exec', pod, '--', 'echo', 'inside']), { code: 0, stdout: 'inside\n' }, 'exec');
  t.match(await run(['exec', pod, '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']), {
    code: 7,
    stdout: 'out\n',
    stderr: /^err\n/,
  });
  await bothWays(t, options, directory, shell);
  await terminal(t, options, directory);
  await copies(t, options, directory, run);
  await forwards(t, options);
  await proxied(t, options, run);
  const logs = new Running(kubectl, ['logs', '-f', pod], { KUBECONFIG: cluster.config });
  await eventually('the log is followed', async () => logs.stdout.includes('ready\n'));
  await logs.stop();
  t.pass('logs -f');
}

export type InputOptions = Pick<KubectlOptions, 'cluster' | 'kubectl' | 'image'>;

/** attach -i and run -i, on real containers and on simulated ones. */
export async function kubectlInput(t: Test, { cluster, kubectl, image }: InputOptions): Promise<void> {
  const name = `cat-${Math.floor(Math.random() * 1e9)}`;
  const run = (args: readonly string[], more: RunOptions = {}) => cluster.client(kubectl, args, more);
  const created = ['run', '-i', '--restart=Never', `--image=${image}`];
  const input = 'one\ntwo, without an end of its line';
  for (const [program, code] of [
    [['cat'], 0],
    [['sh', '-c', 'cat; exit 4'], 4],
  ] as const) {
    const [first] = program;
    const result = await run([...created, '--rm', '--quiet', `${name}-${first}`, '--', ...program], { input });
    const expected = { code, stdout: new RegExp(`^${input}`) };
    t.match(result, expected, `run -i --rm of ${first}`, { stderr: result.stderr });
  }
  const detached = [...created, '--attach=false', name, '--', 'sh', '-c', 'cat; exit 4'];
  t.match(await run(detached), { code: 0 });
  t.match(await run(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']), { code: 0 });
  t.match(await run(['attach', '-i', name], { input }), { code: 0, stdout: new RegExp(`^${input}`) }, 'attach -i');
  const template = '{.status.containerStatuses[0].state.terminated.exitCode}';
  const ended = () => run(['get', 'pod', name, '-o', `jsonpath=${template}`]);
  await eventually('the end of the input has ended the program', async () => (await ended()).stdout === '4');
  t.match(await run(['logs', name]), { stdout: new RegExp(`^${input}`) }, 'what was typed is in the log');
  t.match(await run(['delete', 'pod', name, '--wait=false']), { code: 0 });
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function bothWays(
  t: Test,
  { pod, megabytes }: KubectlOptions,
  directory: string,
  shell: (command: string) => Promise<RunResult>,
): Promise<void> {
  const sent = randomBytes(megabytes * megabyte);
  writeFileSync(join(directory, 'sent'), sent);
  const there = await shell(`"$K" exec -i ${pod} -- sha256sum < sent`);
  t.match(there, { code: 0, stdout: digest(sent) }, 'the end of the input arrives');
  const back = await shell(`"$K" exec -i ${pod} -- cat < sent | sha256sum`);
  t.match(back, { code: 0, stdout: digest(sent) }, `${megabytes} MB both ways`);
  // Little: containerd 1.6 does not end a session while unread input fills its pipes.
  const early = await shell(`head -c 1000 sent | "$K" exec -i ${pod} -- head -c 3 | wc -c`);
  t.equal(early.stdout.trim(), '3', 'a program that ends before its input does');
}

/** script(1) makes the terminal. */
async function terminal(t: Test, { cluster, kubectl, pod }: KubectlOptions, directory: string): Promise<void> {
  const command = `stty rows 33 cols 99; ${kubectl} exec -it ${pod} -- sh -c 'sleep 0.5; stty size; read x; echo got-$x; exit 3'`;
  const session = new Running('script', ['-qec', command, join(directory, 'typescript')], {
    KUBECONFIG: cluster.config,
  });
  await eventually('the size has arrived', async () => session.stdout.includes('33 99'));
  session.write('typed\n');
  t.equal(await session.exited, 3, 'the exit code of a terminal session');
  t.match(session.stdout, /got-typed/);
}

async function copies(
  t: Test,
  { pod }: KubectlOptions,
  directory: string,
  run: (args: readonly string[], more?: RunOptions) => Promise<RunResult>,
): Promise<void> {
  const text = randomBytes(300_000).toString('hex');
  mkdirSync(join(directory, 'there', 'deep'), { recursive: true });
  writeFileSync(join(directory, 'there', 'deep', 'file'), text);
  const to = `/tmp/copy-${Math.floor(Math.random() * 1e9)}`;
  t.match(await run(['cp', join(directory, 'there'), `${pod}:${to}`]), { code: 0 }, 'cp to the pod');
  t.match(await run(['cp', `default/${pod}:${to}`, 'back'], { cwd: directory }), { code: 0 }, 'cp from the pod');
  t.equal(readFileSync(join(directory, 'back', 'deep', 'file'), 'utf8'), text);
}

function download(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
      });
      response.on('end', () => resolve(bytes));
      response.on('error', reject);
    }).on('error', reject);
  });
}

/** Servers behind the API server: by path, through `kubectl proxy`, and through a port forwarded to a Service. */
async function proxied(
  t: Test,
  { cluster, kubectl, pod, service }: KubectlOptions,
  run: (args: readonly string[]) => Promise<RunResult>,
): Promise<void> {
  const env = { KUBECONFIG: cluster.config };
  const at = '/api/v1/namespaces/default';
  const { stdout: node } = await run(['get', 'pod', pod, '-o', 'jsonpath={.spec.nodeName}']);
  const paths = [`${at}/pods/${pod}:8080/proxy/big`, `${at}/services/${service}:web/proxy/big`];
  for (const path of paths) t.equal((await run(['get', '--raw', path])).stdout.length, megabyte, path);
  t.match((await run(['get', '--raw', `/api/v1/nodes/${node}/proxy/healthz`])).stdout, /^ok/);
  t.match(await run(['cluster-info']), { code: 0, stdout: /is running at .*https:\/\// });
  const proxy = new Running(kubectl, ['proxy', '--port=0'], env);
  const url = await eventually('the proxy listens', async () => /on (127\.0\.0\.1:\d+)/.exec(proxy.stdout)?.[1]);
  for (const path of paths) t.equal(await download(`http://${url}${path}`), megabyte, 'kubectl proxy');
  await proxy.stop();
  const forwarding = new Running(kubectl, ['port-forward', `svc/${service}`, ':web'], env);
  const forwarded = await eventually(
    'the forward listens',
    async () => /from (127\.0\.0\.1:\d+)/.exec(forwarding.stdout)?.[1],
  );
  t.equal(await download(`http://${forwarded}/big`), megabyte, 'port-forward svc/…');
  await forwarding.stop();
}

async function forwards(t: Test, { cluster, kubectl, pod }: KubectlOptions): Promise<void> {
  const forwarding = new Running(kubectl, ['port-forward', pod, ':8080', ':9'], { KUBECONFIG: cluster.config });
  const ports = await eventually('the forwards listen', async () => {
    const ports = [...forwarding.stdout.matchAll(/127\.0\.0\.1:(\d+) -> (\d+)/g)];
    return ports.length === 2 ? ports : undefined;
  });
  const local = (remote: string) => ports.find((port) => port[2] === remote)?.[1];
  const url = `http://127.0.0.1:${local('8080')}/big`;
  t.same(await Promise.all(Array.from({ length: 10 }, () => download(url))), Array(10).fill(megabyte), 'port-forward');
  await t.rejects(download(`http://127.0.0.1:${local('9')}/`), 'nothing listens there');
  await eventually('it says why', async () => /error occurred forwarding \d+ -> 9/.test(forwarding.stderr));
  await forwarding.stop();
}
