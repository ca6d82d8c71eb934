/** `orchctl get` prints several types and names exactly like kubectl for the same server. */
import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { get } from '#cmd/orchctl/commands/get/get.js';
import { run } from '#cmd/orchctl/run.js';
import { kubectls } from '#test/e2e/harness.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

interface Answer {
  readonly out: string;
  readonly err: string;
}

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const objects: readonly [path: string, object: object][] = [
  ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }],
  ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'empty' } }],
  ...['a', 'longer-name'].map((name): [string, object] => [
    '/api/v1/namespaces/default/configmaps',
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
  ]),
  [
    '/apis/apps/v1/namespaces/default/replicasets',
    {
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web' } },
      spec: { replicas: 0, selector: { matchLabels: { app: 'web' } }, template },
    },
  ],
];

const cases: readonly string[][] = [
  ['configmaps,secrets'],
  ['configmaps,replicasets'],
  ['replicasets,secrets,configmaps'],
  ['configmaps,replicasets', '--no-headers'],
  ['configmaps,configmaps'],
  ['configmaps', 'a', 'longer-name'],
  ['configmap/a', 'configmap/longer-name'],
  ['configmap/a', 'replicaset/web', 'configmap/longer-name'],
  ['namespaces,configmaps', '-A'],
  ['namespaces/empty', 'replicasets/web'],
  ['secrets,pods'],
  ['secrets,persistentvolumes'],
  ['persistentvolumes'],
  ['secrets', '-n', 'empty'],
  ['secrets', '-A'],
];

/** Replaces ages, since they and their column width differ between calls. */
const ageless = (text: string) => text.replace(/ +\d+s$/gm, ' 1s').replace(/AGE *$/gm, 'AGE');

t.test('prints tables of several types', async (t) => {
  const server = await startServer(t, { https: true, dialect: kubernetesDialect });
  for (const [path, body] of objects) await call(server, 'POST', path, { body });
  const directory = await mkdtemp(join(tmpdir(), 'get-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const config = join(directory, 'config');
  const cluster = { server: `https://127.0.0.1:${server.address?.port}`, 'insecure-skip-tls-verify': true };
  await writeFile(
    config,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'any' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  const { signal } = new AbortController();
  // Every request in flight listens to it.
  setMaxListeners(0, signal);
  const ours = async (args: readonly string[]): Promise<Answer> => {
    const [out, err]: [string[], string[]] = [[], []];
    await run([get], ['get', ...args], {
      stdin: process.stdin,
      out: { write: (part) => out.push(part.toString()), isTTY: false },
      err: { write: (part) => err.push(part.toString()) },
      ...{ env: { KUBECONFIG: config }, clock: realClock, signal: signal, onResize: () => () => undefined },
    });
    return { out: ageless(out.join('')), err: err.join('') };
  };
  t.strictSame(await ours(['configmaps,secrets,replicasets']), {
    out: [
      'NAME                    DATA   AGE',
      'configmap/a             0      1s',
      'configmap/longer-name   0      1s',
      '',
      'NAME                  DESIRED   CURRENT   READY   AGE',
      'replicaset.apps/web   0         0         0       1s',
      '',
    ]
      .join('\n')
      .replace(/ +1s$/gm, ' 1s'),
    err: '',
  });
  t.strictSame(await ours(['secrets,persistentvolumes']), { out: '', err: 'No resources found\n' });
  const [program] = await kubectls();
  if (program === undefined) {
    t.pass('no other client on this machine to compare with', { skip: true });
    return;
  }
  const execute = promisify(execFile);
  for (const args of cases) {
    const options = { env: { KUBECONFIG: config, HOME: directory, PATH: process.env['PATH'] }, timeout: 30_000 };
    const { stdout, stderr } = await execute(program, ['get', ...args], options);
    t.strictSame(await ours(args), { out: ageless(stdout), err: stderr }, args.join(' '));
  }
});
