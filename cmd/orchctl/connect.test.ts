import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { connectionOf } from '#cmd/orchctl/connect.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

const folder = await mkdtemp(join(tmpdir(), 'orchctl-'));
t.teardown(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

const clusters = await file(
  'clusters',
  'clusters: [{name: c, cluster: {server: "https://c", certificate-authority: ca}}]',
);
const users = await file(
  'users',
  `
users:
- name: plugin
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin, args: [tok]}}
- name: other
  user: {token: theirs}
contexts: [{name: x, context: {cluster: c, user: plugin, namespace: ns}}]
current-context: x
`,
);
await file('ca', 'CA');
const status = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"';
await file('plugin', `#!/bin/sh\necho '${status}'$1'"}}'\n`);
await chmod(join(folder, 'plugin'), 0o755);

function connection(env: Record<string, string>, given: Record<string, string | boolean | string[]> = {}) {
  const values: Values = {
    string: (name) => given[name] as string | undefined,
    strings: (name) => (given[name] ?? []) as string[],
    bool: (name) => given[name] === true,
    number: () => 0,
    map: () => ({}),
    isSet: (name) => given[name] !== undefined,
  };
  const terminal = { env: { PATH: '/usr/bin:/bin', ...env }, clock: realClock, stdin: { isTTY: false } };
  return connectionOf(values, terminal as unknown as Terminal);
}

t.test('merges the files of the environment, including plugins', async (t) => {
  const config = await connection({ KUBECONFIG: `${clusters}:${folder}/missing:${users}` });
  t.match(config, { server: 'https://c', namespace: 'ns' });
  t.equal(await config.token?.token(), 'tok');
  t.equal(String((await config.tls?.current())?.ca), 'CA');
  t.equal((await connection({ ORCHCONFIG: `${users}:${clusters}`, KUBECONFIG: '/gone' })).server, 'https://c');
  await t.rejects(connection({ KUBECONFIG: `${folder}/missing` }), { message: /no such file/ });
  await t.rejects(connection({ HOME: folder }), { message: /no client configuration/ });
});

t.test('the command line needs no file', async (t) => {
  for (const env of [{ HOME: folder }, { KUBECONFIG: `${folder}/missing` }]) {
    const config = await connection(env, {
      server: 'https://127.0.0.1:1',
      token: 'own',
      'insecure-skip-tls-verify': true,
    });
    t.match(config, { server: 'https://127.0.0.1:1', namespace: 'default', insecureSkipVerify: true });
    t.equal(await config.token?.token(), 'own');
  }
});

t.test('the command line overrides the files', async (t) => {
  const env = { KUBECONFIG: `${clusters}:${users}`, HTTPS_PROXY: 'http://proxy:1' };
  const config = await connection(env, {
    user: 'other',
    server: 'https://d',
    'insecure-skip-tls-verify': true,
    'tls-server-name': 'api',
    'client-certificate': 'a.crt',
    'client-key': 'a.key',
    as: 'alice',
    'as-group': ['g', 'h'],
    'as-uid': '7',
  });
  t.match(config, {
    server: 'https://d',
    serverName: 'api',
    insecureSkipVerify: true,
    proxy: { host: 'proxy:1' },
    headers: { 'impersonate-user': 'alice', 'impersonate-group': ['g', 'h'], 'impersonate-uid': '7' },
  });
  t.equal(await config.token?.token(), 'theirs');
  await t.rejects(config.tls?.current() ?? Promise.resolve({}), { message: new RegExp(resolve('a.crt')) });
  t.equal(await (await connection(env, { token: 'mine' })).token?.token(), 'mine');
  t.match((await connection(env, { username: 'u', password: 'p' })).headers, { authorization: /^Basic / });
  await t.rejects(connection(env, { config: `${folder}/missing` }), { message: /cannot read the client config/ });
});
