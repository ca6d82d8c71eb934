/**
 * The admission plugins that are off by default, in a whole server. Codes and messages are those of a 1.24.17 server that got the
 * same requests.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { onlyPlugins, takesConfiguration } from '#apiserver/admission/chain/plugins.js';
import { sendJson, startWebhook } from '#apiserver/webhooks/testing/webhook-server.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { parseConfigText } from '#daemon/options/config-decode.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import {
  type ClusterCredentials,
  clusterCredentials,
  startCompleteServer,
} from '#test/integration/apiserver/complete-server.js';

t.setTimeout(120_000);

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
type Any = any;

interface Reply {
  readonly code: number;
  readonly body: Any;
}

type Ask = (method: string, path: string, body?: object, user?: 'admin' | 'alice') => Promise<Reply>;

interface StartOptions {
  readonly config?: object;
  /** Absent: a store and keys of its own. */
  readonly store?: MemoryStore;
  readonly credentials?: ClusterCredentials;
}

/** Starts a server with RBAC; `config`: the content of its file of admission plugins. */
async function start(
  t: Test,
  dialect: Dialect,
  argv: readonly string[],
  { config, store, credentials }: StartOptions = {},
): Promise<Ask> {
  const { argv: own } = credentials ?? (await clusterCredentials(t, dialect, 'token,user,1\n'));
  const server = await startCompleteServer(t, {
    dialect,
    ...(store === undefined ? {} : { store }),
    argv: [...own, ...argv, ...(config === undefined ? [] : [await configOption(t, config)])],
  });
  const { masters, authenticated } = dialect.groups;
  const transports = {
    admin: new InProcessTransport({ handler: server.handler, user: { name: 'admin', groups: [masters] } }),
    alice: new InProcessTransport({ handler: server.handler, user: { name: 'alice', groups: [authenticated] } }),
  };
  return async (method, path, body, user = 'admin') => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await transports[user].request({
      ...{ method, path, headers: { 'content-type': type } },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    });
    const text = (await readAll(response.body)).toString();
    // A path that is not served yet is answered with plain text.
    return { code: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
}

async function configOption(t: Pick<Test, 'teardown'>, config: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'admission-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'config');
  await writeFile(path, JSON.stringify(config));
  return `--admission-control-config-file=${path}`;
}

const configOf = ({ apiServerConfigVersion }: Dialect, configurations: Readonly<Record<string, object>>) => ({
  apiVersion: apiServerConfigVersion,
  kind: 'AdmissionConfiguration',
  plugins: Object.entries(configurations).map(([name, configuration]) => ({ name, configuration })),
});

/** `201`, or code and message of a refusal. */
const shown = ({ code, body }: Reply) => (code < 300 ? `${code}` : `${code} ${body.message}`);

const own = '/api/v1/namespaces/default';
const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata } },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const refusedPod = (name: string, why: string) => `403 pods "${name}" is forbidden: ${why}`;

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`${dialect.name}: plugins for pods, services and volumes`, async (t) => {
    const plugins = [
      ...['SecurityContextDeny', 'AlwaysPullImages', 'DenyServiceExternalIPs', 'ExtendedResourceToleration'],
      ...['LimitPodHardAntiAffinityTopology', 'NamespaceExists', 'PersistentVolumeLabel', 'PodNodeSelector'],
      'PodTolerationRestriction',
    ];
    const ask = await start(t, dialect, [
      `--enable-admission-plugins=${plugins.join(',')}`,
      '--disable-admission-plugins=ServiceAccount',
    ]);
    const { labels, taints, annotations } = dialect;
    const away = (topologyKey: string) => ({
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
      },
    });
    const asks = (name: string, spec: object) => ask('POST', `${own}/pods`, pod(name, spec));
    t.equal(
      shown(await asks('p', { securityContext: { runAsUser: 1 } })),
      refusedPod('p', 'pod.Spec.SecurityContext.RunAsUser is forbidden'),
    );
    t.equal(
      shown(await asks('p', away(labels.zone))),
      refusedPod(
        'p',
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${labels.zone} but only key ${labels.hostname} is allowed`,
      ),
    );
    t.match(shown(await asks('p', away(''))), /^422 /, 'validation comes before the refusal');
    const requests = { requests: { 'a.b/c': '1' }, limits: { 'a.b/c': '1' } };
    const complete = await asks('whole', {
      ...away(labels.hostname),
      containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Never', resources: requests }],
    });
    t.equal(complete.body.spec.containers[0].imagePullPolicy, 'Always', 'images are pulled');
    const first = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
    t.strictSame(
      complete.body.spec.tolerations,
      [
        { key: taints.notReady, ...first },
        { key: taints.unreachable, ...first },
        { key: 'a.b/c', operator: 'Exists', effect: 'NoSchedule' },
      ],
      'tolerations in the order of the plugins',
    );
    // Defaults come before the plugins: limits are requests, too.
    const limited = { containers: [{ name: 'c', image: 'i', resources: { limits: { 'a.b/d': '0' } } }] };
    const { body } = await asks('limited', limited);
    t.match(body.spec.tolerations.at(-1), { key: 'a.b/d', operator: 'Exists' }, 'a limit of zero');
    t.match(
      shown(
        await ask('POST', `${own}/services`, {
          metadata: { name: 's' },
          spec: { ports: [{ port: 80 }], externalIPs: ['1.2.3.4'] },
        }),
      ),
      '403 services "s" is forbidden: Use of external IPs is denied by admission control',
    );
    const missing = '404 namespaces "nope" not found';
    t.equal(shown(await ask('POST', '/api/v1/namespaces/nope/configmaps', { metadata: { name: 'c' } })), missing);
    const review = { spec: { user: 'a', resourceAttributes: { namespace: 'nope', verb: 'get', resource: 'pods' } } };
    const reviews = `/apis/${dialect.apiVersion('authorization', 'v1')}/namespaces/nope/localsubjectaccessreviews`;
    t.equal(shown(await ask('POST', reviews, review)), missing, 'also for reviews');

    const within = async (name: string, notes: Readonly<Record<string, string>>, spec: object = {}) => {
      await ask('POST', '/api/v1/namespaces', { metadata: { name, annotations: notes } });
      return ask('POST', `/api/v1/namespaces/${name}/pods`, pod('p', spec));
    };
    const selected = await within('sel', { [annotations.nodeSelector]: 'disk=ssd' }, { nodeSelector: { x: 'y' } });
    t.strictSame(selected.body.spec.nodeSelector, { disk: 'ssd', x: 'y' }, 'the node selector of the namespace');
    const generated = { ...pod('p', { nodeSelector: { disk: 'hdd' } }), metadata: { generateName: 'p-' } };
    t.equal(
      shown(await ask('POST', '/api/v1/namespaces/sel/pods', generated)),
      '403 pods is forbidden: pod node label selector conflicts with its namespace node label selector',
    );
    t.equal(shown(await within('badsel', { [annotations.nodeSelector]: 'disk' })), '500 invalid selector: [disk]');
    const conflict =
      '500 pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist';
    const list = '[{"key":"a","operator":"Exists"}]';
    t.equal(shown(await within('tol', { [annotations.tolerationsWhitelist]: list })), conflict);
    t.equal(
      shown(await within('badtol', { [annotations.defaultTolerations]: 'x' })),
      "500 invalid character 'x' looking for beginning of value",
    );

    const volume = (more: object) => ({
      metadata: { name: 'v' },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...more },
    });
    t.equal(
      shown(await ask('POST', '/api/v1/persistentvolumes', volume({ awsElasticBlockStore: { volumeID: 'i' } }))),
      '403 persistentvolumes "v" is forbidden: error querying AWS EBS volume i: unable to build AWS cloud provider for EBS',
    );
    t.equal(shown(await ask('POST', '/api/v1/persistentvolumes', volume({ hostPath: { path: '/x' } }))), '201');
  });
}

t.test('owners, events and namespaces', async (t) => {
  const dialect = kubernetesDialect;
  const limits = [
    { type: 'SourceAndObject', qps: 1, burst: 2, cacheSize: 10 },
    { type: 'Namespace', qps: 1, burst: 3 },
  ];
  const events = { apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration', limits };
  const ask = await start(
    t,
    dialect,
    ['--enable-admission-plugins=EventRateLimit,OwnerReferencesPermissionEnforcement,NamespaceAutoProvision'],
    // A plugin that takes no configuration, and a name that is no plugin, change nothing.
    { config: configOf(dialect, { EventRateLimit: events, AlwaysPullImages: { a: 1 }, Nonsense: { a: 1 } }) },
  );
  const group = 'rbac.authorization.k8s.io';
  await ask('POST', `/apis/${group}/v1/clusterroles`, {
    metadata: { name: 'some' },
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get', 'update', 'patch'] },
      { apiGroups: ['apps'], resources: ['replicasets/finalizers'], verbs: ['update'] },
      { apiGroups: ['stable.example'], resources: ['widgets/finalizers'], verbs: ['update'] },
      { apiGroups: [''], resources: ['nodes/finalizers'], verbs: ['update'], resourceNames: ['n1'] },
    ],
  });
  await ask('POST', `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: 'some' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'some' },
    subjects: [{ kind: 'User', apiGroup: group, name: 'alice' }],
  });
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.stable.example' },
    spec: {
      group: 'stable.example',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  while ((await ask('GET', '/apis/stable.example/v1/widgets')).code !== 200) await new Promise(setImmediate);

  const maps = `${own}/configmaps`;
  const owner = (apiVersion: string, kind: string, name: string, block?: boolean) => ({
    ...{ apiVersion, kind, name, uid: 'u' },
    ...(block === undefined ? {} : { blockOwnerDeletion: block }),
  });
  let count = 0;
  const create = async (...ownerReferences: object[]) => {
    const name = `c${count++}`;
    const reply = await ask('POST', maps, { metadata: { name, ownerReferences } }, 'alice');
    return shown(reply).replace(`configmaps "${name}"`, 'configmaps "c"');
  };
  const refused = (why: string) => `403 configmaps "c" is forbidden: cannot set blockOwnerDeletion ${why}`;
  const noFinalizers = refused("if an ownerReference refers to a resource you can't set finalizers on: , <nil>");
  const noMapping = (apiVersion: string, kind: string) =>
    refused(
      `in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`,
    );
  for (const [reference, expected] of [
    [owner('v1', 'Pod', 'p'), '201'],
    [owner('v1', 'Pod', 'p', false), '201'],
    [owner('v1', 'Pod', 'p', true), noFinalizers],
    [owner('apps/v1', 'ReplicaSet', 'r', true), '201'],
    [owner('apps/v1', 'replicaset', 'r', true), '201'],
    [owner('apps/v1', 'ReplicaSetList', 'r', true), noFinalizers],
    [owner('stable.example/v1', 'Widget', 'r', true), '201'],
    [owner('v1', 'Node', 'n1', true), '201'],
    [owner('v1', 'Node', 'n2', true), noFinalizers],
    [owner('v1', 'List', 'n2', true), noFinalizers],
    [owner('v1', 'Nope', 'n', true), noMapping('v1', 'Nope')],
    [owner('x.y/v1', 'Nope', 'n', true), noMapping('x.y/v1', 'Nope')],
    [owner('apps/v9', 'ReplicaSet', 'n', true), noMapping('apps/v9', 'ReplicaSet')],
    [owner('autoscaling/v1', 'Scale', 'n', true), noMapping('autoscaling/v1', 'Scale')],
  ] as const)
    t.equal(await create(reference), expected, JSON.stringify(reference));
  const noDelete = '403 configmaps "c0" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>';
  const patch = (metadata: object) => ask('PATCH', `${maps}/c0`, { metadata }, 'alice');
  t.equal(shown(await patch({ ownerReferences: [] })), noDelete, 'an owner is removed');
  t.equal(shown(await patch({ labels: { a: 'b' } })), '200', 'owners stay');

  const event = (name: string, more: object = {}) => ({
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p', ...more },
    source: { component: 'x' },
  });
  const writes = (name: string, more?: object, query = '') => ask('POST', `${own}/events${query}`, event(name, more));
  t.strictSame([shown(await writes('e1')), shown(await writes('e2'))], ['201', '201']);
  const third = await writes('e3');
  const reached = 'Too many requests: limit reached on type';
  t.equal(shown(third), `429 ${reached} SourceAndObject for key xPoddefaultp`);
  t.strictSame(third.body.details, undefined, 'no time to wait for');
  t.equal(shown(await writes('e4', { name: 'q' })), `429 ${reached} Namespace for key default`);
  t.equal(shown(await writes('e5', {}, '?dryRun=All')), '201', 'dry runs do not count');

  const provision = (namespace: string, query = '') =>
    ask('POST', `/api/v1/namespaces/${namespace}/configmaps${query}`, { metadata: { name: 'x' } }, 'alice');
  t.equal(shown(await provision('new1')), '201', 'alice may not create namespaces');
  const made1 = (await ask('GET', '/api/v1/namespaces/new1')).body;
  t.strictSame(made1.spec.finalizers, ['kubernetes'], 'a usual namespace');
  t.equal(shown(await provision('new2', '?dryRun=All')), '404 namespaces "new2" not found', 'no dry run');
  t.match(
    shown(await provision('NEW_4')),
    /^403 configmaps "x" is forbidden: Namespace "NEW_4" is invalid: metadata\.name: /,
  );
});

t.test('images are reviewed by a webhook', async (t) => {
  const reviews: Any[] = [];
  const { port, caBundle } = await startWebhook(t, (body, response) => {
    const review = JSON.parse(body);
    reviews.push(review);
    const { image } = review.spec.containers[0];
    if (image === 'broken') response.writeHead(404).end();
    else sendJson(response, { ...review, status: { allowed: image === 'good', reason: 'not signed' } });
  });
  const folder = await mkdtemp(join(tmpdir(), 'images-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const kubeConfigFile = join(folder, 'kubeconfig');
  const cluster = { server: `https://127.0.0.1:${port}/review`, 'certificate-authority-data': caBundle };
  await writeFile(
    kubeConfigFile,
    JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  for (const defaultAllow of [false, true]) {
    const imagePolicy = { kubeConfigFile, retryBackoff: 1, allowTTL: 30, denyTTL: 30, defaultAllow };
    const ask = await start(
      t,
      orchDialect,
      ['--enable-admission-plugins=ImagePolicyWebhook', '--disable-admission-plugins=ServiceAccount'],
      // Also the form without a version, as in 1.24.
      { config: defaultAllow ? { imagePolicy } : configOf(orchDialect, { ImagePolicyWebhook: { imagePolicy } }) },
    );
    const creates = async (name: string, image: string) =>
      shown(await ask('POST', `${own}/pods`, pod(name, { containers: [{ name: 'c', image }] })));
    const denied = 'image policy webhook backend denied one or more images: not signed';
    t.equal(await creates('good', 'good'), '201');
    t.equal(await creates('bad', 'bad'), refusedPod('bad', denied));
    const failed = refusedPod('broken', 'the server could not find the requested resource');
    t.equal(await creates('broken', 'broken'), defaultAllow ? '201' : failed, `default ${defaultAllow}`);
    const shell = { spec: { ephemeralContainers: [{ name: 'e', image: 'bad' }] } };
    t.equal(shown(await ask('PATCH', `${own}/pods/good/ephemeralcontainers`, shell)), refusedPod('good', denied));
  }
  t.match(reviews[0], { apiVersion: 'imagepolicy.orch.io/v1alpha1', spec: { namespace: 'default' } });
  t.equal(reviews.length, 6, 'the second review of the same image is remembered');
});

t.test('the page about plugins lists all, and its examples are valid', async (t) => {
  const page = await readFile(new URL('../../../../docs/admission.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| ([A-Z]\w+) \| (on|off) \| [^|]+ \| ([^|]*)\|$/gm)];
  const documented = rows.map(([, name = '']) => name);
  const { disabled: all } = onlyPlugins([]);
  t.strictSame(documented, [...all], 'names in the order in which they run');
  for (const [, name = '', , configuration = ''] of rows)
    t.equal(configuration.trim() !== '', takesConfiguration(name), `whether ${name} takes a configuration`);

  const folder = await mkdtemp(join(tmpdir(), 'examples-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
  const clusters = [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }];
  const users = [{ name: 'u', user: { token: 'secret' } }];
  await writeFile(kubeconfig, JSON.stringify({ clusters, users, contexts, 'current-context': 'x' }));
  const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(
    ([, text = '']) => parseConfigText(text.replaceAll(/\/etc\/orch\/\S+/g, kubeconfig)) as Any,
  );
  const plugins = examples.flatMap((example) => example.plugins);
  const names = plugins.map(({ name }) => name);
  t.strictSame(names.toSorted(), all.filter((name) => takesConfiguration(name) && !name.startsWith('Mutating')).sort());
  // Faulty parts would end the start.
  const enabled = `--enable-admission-plugins=${names.join(',')}`;
  const ask = await start(t, orchDialect, [enabled], { config: { ...examples[0], plugins } });
  t.equal(shown(await ask('POST', `${own}/configmaps`, { metadata: { name: 'c' } })), '201');
});

t.test('--admission-control names all plugins', async (t) => {
  const map = { metadata: { name: 'c' } };
  const store = new MemoryStore({ clock: realClock });
  const credentials = await clusterCredentials(t, kubernetesDialect, 'token,user,1\n');
  const nothing = await start(t, kubernetesDialect, ['--admission-control=AlwaysAdmit'], { store, credentials });
  t.equal(shown(await nothing('POST', '/api/v1/namespaces/nope/configmaps', map)), '201', 'no NamespaceLifecycle');
  // A new cluster cannot be created with it, as in 1.24; this server finds the objects of the first.
  const all = await start(t, kubernetesDialect, ['--admission-control=AlwaysDeny'], { store, credentials });
  const denied = (what: string) => `403 ${what} is forbidden: admission control is denying all modifications`;
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };
  const reviews = 'selfsubjectaccessreviews';
  for (const [method, path, body, expected] of [
    ['GET', '/api/v1/namespaces/nope/configmaps/c', undefined, '200'],
    ['POST', '/api/v1/namespaces/nope/configmaps', { metadata: { generateName: 'x-' } }, denied('configmaps "x-"')],
    ['PATCH', '/api/v1/namespaces/nope/configmaps/c', { data: { a: 'b' } }, denied('configmaps "c"')],
    ['DELETE', '/api/v1/namespaces/nope/configmaps/c', undefined, denied('configmaps "c"')],
    ['POST', `/apis/authorization.k8s.io/v1/${reviews}`, review, denied(`${reviews}.authorization.k8s.io "Unknown"`)],
  ] as const)
    t.equal(shown(await all(method, path, body)), expected, `${method} ${path}`);
});
