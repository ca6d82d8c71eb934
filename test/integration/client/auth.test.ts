/** `orchctl auth can-i` answers exactly like kubectl; `auth who-can` and `why --as` say by which bindings. */
import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { auth } from '#cmd/orchctl/commands/auth/auth.js';
import { why } from '#cmd/orchctl/commands/why/why.js';
import { run } from '#cmd/orchctl/run.js';
import { kubectls } from '#test/e2e/harness.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

const rbac = dialect.apiVersion('rbac', 'v1');
const group = dialect.groupName('rbac');
const rules = [
  { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] },
  { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['update'], resourceNames: ['web', 'db'] },
];
const objects: readonly (readonly [resource: string, object: object])[] = [
  ['roles', { kind: 'Role', metadata: { name: 'reader' }, rules }],
  [
    'rolebindings',
    {
      kind: 'RoleBinding',
      metadata: { name: 'readers' },
      roleRef: { apiGroup: group, kind: 'Role', name: 'reader' },
      subjects: [
        { apiGroup: group, kind: 'User', name: 'jane' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
      ],
    },
  ],
];

interface Answer {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

t.test('what users may do', async (t) => {
  const tokens = 'root,root,u1,"system:masters"\njane,jane,u2\n';
  const { argv } = await clusterCredentials(t, dialect, tokens);
  const server = await startCompleteServer(t, { dialect, argv, listens: true });
  const user = { name: 'root', groups: [dialect.groups.masters] };
  const transport = new InProcessTransport({ handler: server.handler, user });
  for (const [resource, object] of objects) {
    const body = Buffer.from(JSON.stringify({ apiVersion: rbac, ...object }));
    const path = `/apis/${rbac}/namespaces/default/${resource}`;
    const { status } = await transport.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body,
    });
    t.equal(status, 201, resource);
  }
  const directory = await mkdtemp(join(tmpdir(), 'auth-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const configOf = async (token: string) => {
    const cluster = { server: `https://127.0.0.1:${server.address?.port}`, 'insecure-skip-tls-verify': true };
    const file = join(directory, token);
    const entries = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    };
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', ...entries }));
    return file;
  };
  const configs = { root: await configOf('root'), jane: await configOf('jane') };
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const ours = async (token: 'root' | 'jane', args: readonly string[]): Promise<Answer> => {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await run([auth, why], args, {
      stdin: process.stdin,
      out: { write: (part) => out.push(part.toString()), isTTY: false },
      err: { write: (part) => err.push(part.toString()) },
      ...{ env: { KUBECONFIG: configs[token] }, clock: realClock, signal, onResize: () => () => undefined },
    });
    return { out: out.join(''), err: err.join(''), code };
  };

  t.test('auth can-i', async (t) => {
    const rows: readonly (readonly [args: string, out: string, code: number, err?: string])[] = [
      ['get pods', 'yes\n', 0],
      ['get po/web', 'yes\n', 0],
      ['get pods --subresource=log', 'yes\n', 0],
      ['delete pods', 'no\n', 1],
      ['get pods -n other', 'no\n', 1],
      ['list pods -A', 'no\n', 1],
      ['update deployments.apps/web --subresource=scale', 'yes\n', 0],
      ['update deployments.apps/other --subresource=scale', 'no\n', 1],
      ['get /healthz', 'yes\n', 0],
      ['get /logs', 'no\n', 1],
      ['get pods -q', '', 0],
      ['delete pods -q', '', 1],
      ['get nodes', 'no\n', 1, "Warning: resource 'nodes' is not namespace scoped\n"],
      ['frob pods', 'no\n', 1, "Warning: verb 'frob' is not a known verb\n"],
      ['get things', 'no\n', 1, "Warning: the server doesn't have a resource type 'things'\n"],
      ['get things.x.io', 'no\n', 1, "Warning: the server doesn't have a resource type 'things' in group 'x.io'\n"],
    ];
    for (const [args, out, code, err = ''] of rows) {
      t.same(await ours('jane', ['auth', 'can-i', ...args.split(' ')]), { out, err, code }, args);
    }
    t.equal((await ours('root', ['auth', 'can-i', '*', '*'])).out, 'yes\n');
    t.equal((await ours('root', ['auth', 'can-i', 'delete', 'pods', '--as', 'jane'])).code, 1, 'as another user');
    for (const args of [
      'get',
      '--list pods',
      '--list -q',
      '--list -A',
      'get pods --no-headers',
      'get /x --subresource=y',
    ]) {
      t.equal((await ours('jane', ['auth', 'can-i', ...args.split(' ')])).code, 1, `wrong usage: ${args}`);
    }
  });

  t.test('auth can-i agrees with another client', async (t) => {
    const [program] = await kubectls();
    if (program === undefined) {
      t.pass('no other client on this machine to compare with', { skip: true });
      return;
    }
    const execute = promisify(execFile);
    const env = { KUBECONFIG: configs.jane, HOME: directory, PATH: process.env['PATH'] };
    for (const args of [['get', 'pods'], ['delete', 'pods/web'], ['--list'], ['--list', '--no-headers']]) {
      const theirs = await execute(program, ['auth', 'can-i', ...args], { env, timeout: 30_000 }).then(
        ({ stdout }) => ({ out: stdout, code: 0 }),
        ({ stdout, code }: { stdout: string; code: number }) => ({ out: stdout, code }),
      );
      const { out, code } = await ours('jane', ['auth', 'can-i', ...args]);
      t.same({ out, code }, theirs, args.join(' '));
    }
  });

  t.test('auth who-can', async (t) => {
    const { out, code } = await ours('root', ['auth', 'who-can', 'get', 'pods/web']);
    t.equal(code, 0);
    const lines = out.split('\n').map((line) => line.split(/ {2,}/));
    t.strictSame(lines[0], ['KIND', 'SUBJECT', 'BINDING', 'ROLE']);
    for (const row of [
      ['Group', 'system:masters', 'ClusterRoleBinding cluster-admin', 'ClusterRole cluster-admin'],
      ['User', 'jane', 'RoleBinding default/readers', 'Role reader'],
      ['ServiceAccount', 'default/robot', 'RoleBinding default/readers', 'Role reader'],
    ]) {
      t.ok(
        lines.some((line) => line.join() === row.join()),
        row.join(' '),
      );
    }
    const json = await ours('root', ['auth', 'who-can', 'get', 'pods', '-n', 'other', '-o', 'json']);
    t.notMatch(json.out, /jane/, 'a role of another namespace does not count');
    t.match(await ours('jane', ['auth', 'who-can', 'get', 'pods']), { code: 1, err: /may not list all roles/ });
  });

  t.test('why --as', async (t) => {
    const { out, code, err } = await ours('root', ['why', '--as', 'jane', 'delete', 'pods/web']);
    t.same({ code, err }, { code: 0, err: '' });
    const [text = '', yaml = ''] = out.split(/\n\n(?=apiVersion)/);
    t.match(text, 'jane cannot delete pods web in the namespace default.');
    t.match(text, '  RoleBinding default/readers (Role reader): its role allows get, list, not delete');
    t.match(text, /Bindings that allow it to others:\n/);
    const granted = yaml.split('---\n').map((part) => parseYAML(part) as Record<string, unknown>);
    t.match(granted[0], { kind: 'Role', rules: [{ verbs: ['delete'], resources: ['pods'], resourceNames: ['web'] }] });
    for (const [i, resource] of ['roles', 'rolebindings'].entries()) {
      const body = Buffer.from(JSON.stringify(granted[i]));
      const path = `/apis/${rbac}/namespaces/default/${resource}`;
      const headers = { 'content-type': 'application/json' };
      t.equal(
        (await transport.request({ method: 'POST', path, headers, body })).status,
        201,
        `${resource} of the answer`,
      );
    }
    const canI = ['auth', 'can-i', 'delete', 'pods/web'];
    while ((await ours('jane', canI)).code !== 0) await realClock.sleep(5);
    t.pass('the role of the answer allows it');
    const after = await ours('root', ['why', '--as', 'jane', 'delete', 'pods/web']);
    t.match(
      after.out,
      /^jane can delete pods web .*\n.*\n\nAllowed by:\n {2}RoleBinding default\/delete-pods-web-jane/,
    );
    const create = await ours('root', [
      'why',
      '--as',
      'system:serviceaccount:default:robot',
      'create',
      'nodes/a',
      '-o',
      'json',
    ]);
    t.match(JSON.parse(create.out), {
      user: { groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'] },
      allowed: false,
      grant: {
        role: { kind: 'ClusterRole', rules: [{ verbs: ['create'], apiGroups: [''], resources: ['nodes'] }] },
        binding: { subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'robot' }] },
      },
    });
    const path = await ours('root', ['why', '--as', 'jane', 'get', '/metrics']);
    t.match(path.out, /jane cannot get \/metrics\.\n/);
    t.equal((await ours('jane', ['why', '--as', 'root', 'get', 'pods'])).code, 1, 'reviews of others need a right');
  });
});
