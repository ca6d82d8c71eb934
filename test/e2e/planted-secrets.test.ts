/** Secrets that are planted in a cluster appear in no log, audit event, error, metric, span, profile or event. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { events, secrets } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { auditVersion } from '#apiserver/audit/event.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { layoutOf } from '#cluster/config/layout.js';
import { eventually, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { adminClient } from '#test/e2e/observe.js';
import { startCollector } from '#test/integration/tracing/collector.js';

t.setTimeout(240_000);
const dialect = dialectByName('orch');
const namespace = '/api/v1/namespaces/default';

/** Each is planted in another place, so that a find tells where it came from. */
const plants = {
  data: 'planted-data-3f9a1c7e',
  update: 'planted-update-77b0d2',
  patch: 'planted-patch-0c41e9a3',
  applied: 'planted-applied-a81f44',
  refused: 'planted-refused-52dd90',
  malformed: 'planted-malformed-e3b7',
  encoded: 'planted-encoded-9a60ff',
  strict: 'planted-strict-4be2d1',
  pull: 'planted-pull-c9d84407',
  certificate: 'planted-certificate-71',
  bearer: 'planted-bearer-8d0b6e',
  basic: 'planted-basic-6a3c90e',
  protocol: 'planted-protocol-b2d4',
  bootstrap: 'plantedbootstrp1',
  wrongBootstrap: 'plantedbootstrp2',
  review: 'planted-review-f07d1b',
  file: 'planted-file-2c9e5a8',
  environment: 'planted-variable-d61',
} as const;

/** The forms in which a text may leave the cluster. */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  // The base64 of a text inside another one begins at one of three offsets; the ends depend on the neighbours.
  const inside = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '')
      .slice(offset === 0 ? 0 : 4, -4),
  );
  return [
    text,
    bytes.toString('hex'),
    ...inside,
    ...inside.map((part) => part.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Present the client certificate of the administrator. */
  readonly isAdmin?: boolean;
  readonly port?: number;
}

function caller(cluster: TestCluster) {
  const layout = layoutOf(cluster.dataDir);
  const pki = (name: string) => readFileSync(join(layout.pki, name));
  const tls = { ca: pki('ca.crt'), rejectUnauthorized: false };
  const own = { cert: pki('admin.crt'), key: pki('admin.key') };
  return async (
    path: string,
    { method = 'GET', headers = {}, body, isAdmin = true, port }: Call = {},
  ): Promise<Answer> => {
    const { server } = await loadKubeconfig(cluster.config, { clock: realClock });
    const { hostname, port: ownPort } = new URL(server);
    return new Promise((resolve, reject) => {
      const options = { ...tls, ...(isAdmin ? own : {}), host: hostname, port: port ?? ownPort, path, method, headers };
      const sent = request({ ...options, agent: false }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('latin1') }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  };
}

type Caller = ReturnType<typeof caller>;

const json = { 'content-type': 'application/json' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Secrets in objects: written, changed, refused and malformed. Resolves with the answers that were errors. */
async function plantObjects(call: Caller): Promise<Answer[]> {
  const failed: Answer[] = [];
  const send = async (path: string, body: unknown, more: Call = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await call(path, { method: 'POST', headers: json, body: text, ...more });
    if (answer.status >= 400) failed.push(answer);
    return answer;
  };
  const secret = (name: string, value: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    data: { password: base64(value) },
    ...more,
  });
  const at = `${namespace}/secrets`;
  await send(at, secret('one', plants.data));
  await send(at, { ...secret('one', plants.refused), stringData: { again: plants.refused } });
  await send(`${at}/one`, secret('one', plants.update), { method: 'PUT' });
  const merge = { ...json, 'content-type': 'application/merge-patch+json' };
  await send(`${at}/one`, { data: { password: base64(plants.patch) } }, { method: 'PATCH', headers: merge });
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  await send(`${at}/two?fieldManager=t`, secret('two', plants.applied), { method: 'PATCH', headers: apply });
  await send(`${at}/two?fieldManager=other`, secret('two', plants.refused), { method: 'PATCH', headers: apply });
  const test = { 'content-type': 'application/json-patch+json' };
  const operations = [{ op: 'test', path: '/data/password', value: base64(plants.refused) }];
  await send(`${at}/one`, operations, { method: 'PATCH', headers: test });
  await send(at, secret('Not A Name', plants.refused));
  await send(at, secret('typed', plants.refused, { type: 'orch.io/dockerconfigjson' }));
  await send(at, { ...secret('tls', plants.refused), type: `${dialect.labelDomain}/tls` });
  await send(at, `{"kind":"Secret","data":{"password":"${base64(plants.malformed)}"`);
  await send(at, { ...secret('encoded', ''), data: { password: `${plants.encoded}%%` } });
  await send(`${at}?fieldValidation=Strict`, {
    ...secret('strict', plants.strict),
    data: { password: plants.strict },
    odd: plants.strict,
  });
  await send(at, secret('frozen', plants.data, { immutable: true }));
  await send(`${at}/frozen`, secret('frozen', plants.refused, { immutable: true }), { method: 'PUT' });
  const registry = JSON.stringify({ auths: { 'registry.test': { auth: base64(`user:${plants.pull}`) } } });
  await send(at, {
    metadata: { name: 'pull' },
    type: `${dialect.labelDomain}/dockerconfigjson`,
    data: { '.dockerconfigjson': base64(registry) },
  });
  await send(at, {
    metadata: { name: 'broken' },
    type: `${dialect.labelDomain}/tls`,
    data: { 'tls.crt': base64(plants.certificate), 'tls.key': base64(plants.certificate) },
  });
  await send(namespace.replace('default', dialect.namespaces.system).concat('/secrets'), {
    metadata: { name: 'bootstrap-token-abcdef' },
    type: `bootstrap.${dialect.labelDomain}/token`,
    stringData: {
      'token-id': 'abcdef',
      'token-secret': plants.bootstrap,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
    },
  });
  await send(`${namespace}/pods`, {
    metadata: { name: 'user' },
    spec: {
      imagePullSecrets: [{ name: 'pull' }],
      containers: [
        {
          name: 'c',
          image: 'registry.test/image',
          env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'env', key: 'password' } } }],
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
      volumes: [{ name: 'v', secret: { secretName: 'one' } }],
    },
  });
  // The pod waits for it first, and has an event for that.
  await send(at, secret('env', plants.environment));
  await send(`/apis/${dialect.groupName('networking')}/v1/namespaces/default/ingresses`, {
    metadata: { name: 'broken' },
    spec: {
      tls: [{ hosts: ['a.test'], secretName: 'broken' }],
      defaultBackend: { service: { name: 's', port: { number: 80 } } },
    },
  });
  return failed;
}

/** Secrets in credentials. */
async function plantCredentials(call: Caller): Promise<Answer[]> {
  const failed: Answer[] = [];
  const ask = async (path: string, headers: Readonly<Record<string, string>>, more: Call = {}) => {
    const answer = await call(path, { headers, isAdmin: false, ...more });
    if (answer.status >= 400) failed.push(answer);
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const list = `${namespace}/pods`;
  await ask(list, bearer(plants.bearer));
  await ask(list, bearer(plants.file));
  await ask(list, bearer(`abcdef.${plants.bootstrap}`));
  await ask(list, bearer(`abcdef.${plants.wrongBootstrap}`));
  await ask(list, bearer(`eyJhbGciOiJSUzI1NiJ9.${Buffer.from(plants.bearer).toString('base64url')}.x`));
  await ask(list, { authorization: `Basic ${base64(`admin:${plants.basic}`)}` });
  await ask(list, { ...bearer(plants.bearer), 'impersonate-user': 'alice' });
  const encoded = Buffer.from(plants.protocol).toString('base64url');
  await ask(`${list}?watch=true`, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': `base64url.bearer.authorization.${dialect.labelDomain}.${encoded}, base64.binary.${dialect.labelDomain}`,
  });
  const review = {
    kind: 'TokenReview',
    apiVersion: `${dialect.groupName('authentication')}/v1`,
    spec: { token: plants.review },
  };
  const path = `/apis/${dialect.groupName('authentication')}/v1/tokenreviews`;
  await ask(path, json, { method: 'POST', body: JSON.stringify(review), isAdmin: true });
  await ask(path, json, {
    method: 'POST',
    body: JSON.stringify({ ...review, spec: { token: [plants.review] } }),
    isAdmin: true,
  });
  return failed;
}

/** What the daemons show at their ports. */
async function shown(cluster: TestCluster, call: Caller): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const layout = layoutOf(cluster.dataDir);
  const paths = [
    '/metrics',
    '/configz',
    '/debug/pprof/heap?seconds=1',
    '/debug/pprof/profile?seconds=1',
    '/debug/controllers',
  ];
  const [node = ''] = (JSON.parse(readFileSync(layout.settings, 'utf8')) as { nodes: string[] }).nodes;
  const views = [
    ...paths.map((path) => [`API server ${path}`, path, undefined] as const),
    ...[...paths, '/pods', '/logs/', '/stats/summary'].map(
      (path) => [`node agent ${path}`, `/api/v1/nodes/${node}/proxy${path}`, undefined] as const,
    ),
  ];
  const targets = join(layout.run, 'targets');
  for (const name of ['controller-manager.json', 'scheduler.json']) {
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(await readFile(join(targets, name), 'utf8'))?.[1]);
    for (const path of paths) views.push([`${name} ${path}`, path, port] as never);
  }
  for (const [name, path, port] of views) {
    const { body } = await call(path, port === undefined ? {} : { port });
    pages.set(name, body);
  }
  return pages;
}

t.test('secrets stay where they are', async (t) => {
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const [tracing] = dialect.tracingConfigVersions;
  const policy = {
    apiVersion: auditVersion(dialect),
    kind: 'Policy',
    rules: [{ level: 'Metadata' }],
  };
  const cluster = await startTestCluster({
    separate: true,
    args: [
      '--v=10',
      '--ingress=built-in',
      '--ingress-http-port=0',
      '--ingress-https-port=0',
      '--feature-gates=APIServerTracing=true',
      '--apiserver-arg=profiling=true',
      '--controller-manager-arg=profiling=true',
      '--scheduler-arg=profiling=true',
      `--apiserver-arg=token-auth-file=${file('tokens.csv', `${plants.file},filed,1\n`)}`,
      `--apiserver-arg=audit-policy-file=${file('policy.json', JSON.stringify(policy))}`,
      `--apiserver-arg=tracing-config-file=${file(
        'tracing.yaml',
        `{apiVersion: ${tracing}, kind: TracingConfiguration, endpoint: '${collector.endpoint}', samplingRatePerMillion: 1000000}`,
      )}`,
    ],
  });
  t.teardown(() => cluster.destroy());
  const call = caller(cluster);
  const failed = [...(await plantObjects(call)), ...(await plantCredentials(call))];
  t.ok(failed.length > 10, 'many of the requests are refused');
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const stored = JSON.stringify(await client.resource(secrets).list());
  for (const name of ['patch', 'applied', 'environment'] as const) {
    t.ok(stored.includes(base64(plants[name])), `${name} is stored`);
  }
  await eventually('an event of the pod', async () => {
    const { items } = await client.resource(events).list();
    return items.some(({ involvedObject }) => involvedObject.name === 'user');
  });
  await eventually('the last request in the audit log, and a span', async () => {
    const log = await readFile(layoutOf(cluster.dataDir).auditLog, 'utf8');
    return log.includes('tokenreviews') && collector.spans.length > 0;
  });

  const places = await shown(cluster, call);
  places.set('events', JSON.stringify(await client.resource(events).list()));
  places.set('spans', JSON.stringify(collector.spans));
  for (const [index, { body }] of failed.entries()) places.set(`error ${index}: ${body.slice(0, 200)}`, body);
  const logs = layoutOf(cluster.dataDir).logs;
  for (const name of await readdir(logs)) places.set(name, await readFile(join(logs, name), 'latin1'));
  t.ok(places.has('audit.log') && places.has('orch-apiserver.log'), 'the logs are there');
  for (const [place, text] of places) {
    const seen = Object.entries(plants).filter(([, plant]) => formsOf(plant).some((form) => text.includes(form)));
    const where = seen.map(([name, plant]) => {
      const at = Math.max(...formsOf(plant).map((form) => text.indexOf(form)));
      return `${name}: ${text.slice(Math.max(0, at - 200), at + 80)}`;
    });
    t.same(where, [], `${place} shows no secret`);
  }
});
