import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { configFromOptions } from '#client/kubeconfig/connect-daemon.js';
import { formatKubeconfig, KubeconfigError, parseKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { inClusterConfig, NotInClusterError } from '#client/kubeconfig/in-cluster.js';
import { loadKubeconfig, loadKubeconfigs } from '#client/kubeconfig/load.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

function disk(files: Record<string, string>) {
  const reads: string[] = [];
  const readFile = (path: string) => {
    reads.push(path);
    const text = files[path];
    return text === undefined ? Promise.reject(new Error(`ENOENT: ${path}`)) : Promise.resolve(Buffer.from(text));
  };
  return { files, reads, readFile };
}

const yaml = `
apiVersion: v1
kind: Config
clusters:
- name: one
  cluster: {server: "https://one:6443", certificate-authority: pki/ca.crt, tls-server-name: api}
- name: two
  cluster: {server: "two:8080", insecure-skip-tls-verify: true}
users:
- name: files
  user: {client-certificate: a.crt, client-key: /abs/a.key}
- name: token
  user: {tokenFile: token, token: stale, as: other, as-groups: [g, h]}
- name: unprivileged
  user:
- name: plugin
  user: {exec: {command: x}}
contexts:
- name: a
  context: {cluster: one, user: files, namespace: ns}
- name: b
  context: {cluster: two, user: token}
- name: c
  context: {cluster: two, user: unprivileged}
- name: d
  context: {cluster: two, user: plugin}
- name: e
  context: {cluster: missing, user: unprivileged}
current-context: a
`;

t.test('certificate files are relative to the config', async (t) => {
  const clock = new VirtualClock();
  const { files, readFile } = disk({
    '/etc/c/config': yaml,
    '/etc/c/pki/ca.crt': 'CA',
    '/etc/c/a.crt': 'CERT',
    '/abs/a.key': 'KEY',
  });
  const config = await loadKubeconfig('/etc/c/config', { clock, readFile });
  t.match(config, { server: 'https://one:6443', namespace: 'ns', serverName: 'api' });
  const [first, second] = await Promise.all([config.tls?.current(), config.tls?.current()]);
  t.equal(second, first, 'the same object for concurrent callers');
  t.same([String(first?.ca), String(first?.cert), String(first?.key)], ['CA', 'CERT', 'KEY']);
  t.equal(await config.tls?.current(), first, 'the same object while nothing changes');
  await clock.advance(61_000);
  t.equal(await config.tls?.current(), first);
  files['/etc/c/a.crt'] = 'NEW';
  await clock.advance(61_000);
  t.equal(String((await config.tls?.current())?.cert), 'NEW');
});

t.test('follows rotation of token files', async (t) => {
  const clock = new VirtualClock();
  const { files, readFile } = disk({ '/c': yaml, '/token': 'one\n' });
  const config = await loadKubeconfig('/c', { clock, readFile, context: 'b' });
  t.match(config, {
    server: 'https://two:8080',
    namespace: 'default',
    insecureSkipVerify: true,
    headers: { 'impersonate-user': 'other', 'impersonate-group': ['g', 'h'] },
  });
  t.equal(await config.token?.token(), 'one');
  files['/token'] = 'two';
  t.equal(await config.token?.token(), 'one');
  config.token?.invalidate();
  t.equal(await config.token?.token(), 'two');
  delete files['/token'];
  await clock.advance(61_000);
  t.equal(await config.token?.token(), 'two', 'the file is missing for a moment');
});

t.test('reports invalid files', async (t) => {
  const clock = new VirtualClock();
  const { readFile } = disk({
    '/c': yaml,
    '/bad': '{',
    '/pod': 'kind: Pod',
    '/list': 'clusters: {}',
    '/empty': 'kind: Config',
  });
  const load = (path: string, context?: string) =>
    loadKubeconfig(path, { clock, readFile, ...(context === undefined ? {} : { context }) });
  t.equal((await load('/c', 'c')).token, undefined);
  const rows: [string, string | undefined, RegExp][] = [
    ['/missing', undefined, /cannot read the client config \/missing/],
    ['/bad', undefined, /neither YAML nor JSON/],
    ['/pod', undefined, /v1 Pod, not a v1 Config/],
    ['/list', undefined, /clusters is not a list/],
    ['/empty', undefined, /no current context/],
    ['/c', 'd', /exec: apiVersion must be specified/],
    ['/c', 'e', /cluster "missing" does not exist/],
    ['/c', 'z', /context "z" does not exist/],
  ];
  for (const [path, context, message] of rows) {
    await t.rejects(load(path, context), { name: KubeconfigError.name, message }, `${path} ${context}`);
  }
});

t.test('reads all connection settings', async (t) => {
  const clock = new VirtualClock();
  const user = (fields: object) => ({ name: 'u', user: fields });
  const load = (fields: object, cluster: object = {}) => {
    const text = JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://h', ...cluster } }],
      users: [user(fields)],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
    return loadKubeconfig('/c', { clock, readFile: disk({ '/c': text }).readFile, env: { HTTPS_PROXY: 'env:1' } });
  };
  t.match(await load({}, { 'proxy-url': 'socks5://s:1', 'disable-compression': true }), {
    proxy: { href: 'socks5://s:1' },
    compression: false,
  });
  t.match(await load({}), { proxy: { host: 'env:1' } });
  t.notOk('compression' in (await load({})));
  t.equal((await load({}, { server: 'https://127.0.0.1:6443' })).compression, false);
  t.notOk('compression' in (await load({}, { server: 'https://[::1]:6443', 'disable-compression': false })));
  t.same((await load({ username: 'me', password: 'p:w' })).headers, {
    authorization: `Basic ${Buffer.from('me:p:w').toString('base64')}`,
  });
  t.same((await load({ as: 'x', 'as-uid': '7', 'as-user-extra': { 'a/b': ['1', '2'], C: [] } })).headers, {
    'impersonate-user': 'x',
    'impersonate-uid': '7',
    'impersonate-extra-a%2Fb': ['1', '2'],
    'impersonate-extra-C': [],
  });
  const rows: [object, object, RegExp][] = [
    [{ 'as-groups': ['g'] }, {}, /without impersonating a user/],
    [{ 'as-groups': 'g' }, {}, /as-groups is not a strings/],
    [{ token: 7 }, {}, /token is not a string/],
    [{ 'auth-provider': { name: 'gcp' } }, {}, /auth-provider "gcp" is not supported; use its credential plugin/],
    [{ 'auth-provider': { name: 'oidc' } }, {}, /must provide idp-issuer-url/],
    [
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } },
      {},
      /interactiveMode must be specified/,
    ],
    [{ exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } }, {}, /invalid apiVersion/],
    [{ exec: { apiVersion: 'client.authentication.k8s.io/v1beta1' } }, {}, /command must be specified/],
    [{}, { 'proxy-url': 'ftp://x' }, /unsupported scheme "ftp"/],
    [{}, { server: 'https://:x' }, /not a server's address/],
  ];
  for (const [fields, cluster, message] of rows) {
    await t.rejects(load(fields, cluster), { name: KubeconfigError.name, message }, String(message));
  }
});

t.test('merges several files, the first one takes precedence', async (t) => {
  const clock = new VirtualClock();
  const first = `
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: only-here, context: {cluster: c, user: u}}]
current-context: only-here
`;
  const second = `
clusters: [{name: c, cluster: {server: "https://second", certificate-authority: ca}}]
users: [{name: u, user: {token: not-this, as: nor-this}}]
current-context: other
contexts: [{name: other, context: {cluster: c, user: v, namespace: ns}}]
`;
  const files = { '/a/one': first, '/b/two': second, '/a/token': 'tok', '/b/ca': 'CA' };
  const { readFile: read } = disk(files);
  const readFile = (path: string) =>
    read(path).catch((error: unknown) => {
      throw Object.assign(error as Error, { code: 'ENOENT' });
    });
  const load = (paths: string[], more: object = {}) => loadKubeconfigs(paths, { clock, readFile, ...more });
  const config = await load(['/a/one', '/missing', '', '/b/two', '/a/one']);
  t.equal(config.server, 'https://second');
  t.equal(await config.token?.token(), 'tok', 'relative to its own file');
  t.equal(config.headers, undefined, 'no field of the second user');
  t.equal(String((await config.tls?.current())?.ca), 'CA');
  await t.rejects(load(['/missing', '/gone']), { name: KubeconfigError.name, message: /\/missing:\/gone/ });
  await t.rejects(loadKubeconfig('/missing', { clock, readFile }), { name: KubeconfigError.name });
  const named = await load(['/b/two'], { cluster: 'c', user: 'u', userFields: { token: 'given', as: 'me' } });
  t.equal(await named.token?.token(), 'given');
  t.same(named.headers, { 'impersonate-user': 'me' });
});

t.test('written files can be read', async (t) => {
  const clock = new VirtualClock();
  const text = formatKubeconfig(
    singleContext({
      server: 'https://h:1',
      clusterName: 'c',
      userName: 'u',
      ca: 'CA',
      clientCertificate: 'CERT',
      clientKey: 'KEY',
    }),
  );
  t.equal(parseKubeconfig(text)['current-context'], 'u@c');
  t.equal(parseKubeconfig(JSON.stringify(parseKubeconfig(text))).clusters[0]?.cluster.server, 'https://h:1');
  const config = await loadKubeconfig('/c', {
    clock,
    readFile: disk({ '/c': text }).readFile,
    server: 'https://other:2',
  });
  t.equal(config.server, 'https://other:2');
  t.same(Object.values((await config.tls?.current()) ?? {}).map(String), ['CA', 'CERT', 'KEY']);
});

t.test('in-cluster configuration', async (t) => {
  const clock = new VirtualClock();
  const path = kubernetesDialect.serviceAccountPath;
  const { readFile } = disk({ [`${path}/token`]: 'tok', [`${path}/namespace`]: 'ns', [`${path}/ca.crt`]: 'CA' });
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const config = await inClusterConfig({ dialect: kubernetesDialect, clock, env, readFile });
  t.match(config, { server: 'https://[fd00::1]:443', namespace: 'ns' });
  t.equal(await config.token?.token(), 'tok');
  t.equal(String((await config.tls?.current())?.ca), 'CA');
  await t.rejects(inClusterConfig({ dialect: orchDialect, clock, env, readFile }), { name: NotInClusterError.name });
});

t.test('configuration from options: file, address or pod', async (t) => {
  const clock = new VirtualClock();
  const { readFile } = disk({ '/c': yaml });
  const options = { dialect: orchDialect, clock, env: {}, readFile };
  t.equal((await configFromOptions({ file: '/c' }, options)).server, 'https://one:6443');
  t.equal((await configFromOptions({ file: '/c' }, { ...options, env: { HTTPS_PROXY: 'p:1' } })).proxy?.host, 'p:1');
  t.equal((await configFromOptions({ file: '/c', master: 'https://x:1' }, options)).server, 'https://x:1');
  t.equal((await configFromOptions({ file: '', master: 'x:8080' }, options)).server, 'http://x:8080');
  await t.rejects(configFromOptions({}, options), { name: NotInClusterError.name });
});
