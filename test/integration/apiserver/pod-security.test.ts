/** The plugin PodSecurity in a complete server, and the examples of docs/pod-security.md. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { startWebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';

// biome-ignore lint/suspicious/noExplicitAny: as the server answers
type Any = any;

/** The examples of the page, in the dialect. */
async function documented(dialect: Dialect) {
  // Tests run compiled, below dist.
  const page = await readFile(new URL('../../../../docs/pod-security.md', import.meta.url), 'utf8');
  const text = page
    .replaceAll(`pod-security.${orchDialect.labelDomain}/`, `pod-security.${dialect.labelDomain}/`)
    .replaceAll(`config.${orchDialect.apiDomain}/`, `config.${dialect.apiDomain}/`)
    .replaceAll(orchDialect.namespaces.system, dialect.namespaces.system);
  const all = [...text.matchAll(/```(\w*)\n([^`]*)```/g)];
  const blocks = (language: string) => all.filter(([, name]) => name === language).map(([, , block = '']) => block);
  const [namespace, refused, allowed, configuration] = blocks('yaml').map((block) => parse(block) as Any);
  const [refusal = '', warnings = ''] = blocks('');
  return { namespace, refused, allowed, configuration, refusal: refusal.trim(), warnings: warnings.trim().split('\n') };
}

async function setup(t: Test, dialect: Dialect, configuration?: object) {
  const folder = await mkdtemp(join(tmpdir(), 'pod-security-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = async (name: string, content: object) => {
    await writeFile(join(folder, name), JSON.stringify(content));
    return join(folder, name);
  };
  const log = join(folder, 'audit.log');
  const audit = { apiVersion: `audit.${dialect.apiDomain}/v1`, kind: 'Policy', rules: [{ level: 'Metadata' }] };
  const cluster = await startWebhookCluster(t, dialect, [
    `--audit-policy-file=${await file('policy', { ...audit, omitStages: ['RequestReceived'] })}`,
    `--audit-log-path=${log}`,
    ...(configuration ? [`--admission-control-config-file=${await file('config', configuration)}`] : []),
  ]);
  const prefix = `pod-security.${dialect.labelDomain}/`;
  /** Annotations of the plugin in the last event with the address. */
  const audited = async (uri: string): Promise<Record<string, string>> => {
    for (;;) {
      const events = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes(`"${uri}"`));
      const { annotations = {} } = JSON.parse(events.at(-1) ?? '{}') as { annotations?: Record<string, string> };
      const own = Object.entries(annotations).filter(([key]) => key.startsWith(prefix));
      if (events.length > 0) return Object.fromEntries(own.map(([key, text]) => [key.slice(prefix.length), text]));
      await clock.sleep(5);
    }
  };
  const namespace = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: Object.fromEntries(Object.entries(labels).map(([key, text]) => [prefix + key, text])) },
  });
  return { ...cluster, audited, namespace, prefix };
}

const list = '/api/v1/namespaces';
const podsOf = (namespace: string) => `${list}/${namespace}/pods`;
const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const merge = 'application/merge-patch+json';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`the page's examples: ${dialect.name}`, async (t) => {
    const { namespace, refused, allowed, configuration, refusal, warnings } = await documented(dialect);
    const { send, audited, prefix, namespace: named } = await setup(t, dialect, configuration);
    t.match(await send('POST', list, namespace), { status: 201 }, 'the namespace');
    t.match(
      await send('POST', podsOf('shop'), refused),
      { status: 403, body: { message: refusal } },
      'the refused pod',
    );
    const good = await send('POST', podsOf('shop'), allowed);
    t.match(good, { status: 201, warnings: [] }, 'the allowed pod');
    for (const name of ['api', 'api-2']) await send('POST', podsOf('shop'), pod(name));
    const strict = { metadata: { labels: { [`${prefix}enforce`]: 'restricted' } } };
    t.same(
      (await send('PATCH', `${list}/shop?dryRun=All`, strict, merge)).warnings,
      warnings.map((line) => line.replace('Warning: ', '')),
      'the dry run',
    );
    await send('POST', list, named('plain'));
    t.match(
      await send('POST', podsOf('plain'), pod('host', { hostPID: true })),
      { status: 403, body: { message: /violates PodSecurity "baseline:latest": host namespaces/ } },
      'the default level',
    );
    await send('POST', podsOf('plain'), pod('warned'));
    t.match(
      await audited(podsOf('plain')),
      { 'enforce-policy': 'baseline:latest', 'audit-violations': /^would violate PodSecurity "restricted:latest": / },
      'the default audit level',
    );
    const { system } = dialect.namespaces;
    t.match(
      await send('POST', podsOf(system), pod('host', { hostNetwork: true })),
      { status: 201, warnings: [] },
      system,
    );
    t.same(await audited(podsOf(system)), { exempt: 'namespace' }, 'the exemption is audited');
  });

  t.test(`a namespace's life: ${dialect.name}`, async (t) => {
    const { send, audited, namespace, prefix, metrics } = await setup(t, dialect);
    const label = (labels: object) => ({ metadata: { labels } });
    const invalid = `Namespace "a" is invalid: metadata.labels[${prefix}enforce]: Invalid value: "x": must be one of privileged, baseline, restricted`;
    t.match(
      await send('POST', list, namespace('a', { enforce: 'x' })),
      {
        status: 422,
        body: {
          message: invalid,
          reason: 'Invalid',
          details: { name: 'a', kind: 'Namespace', causes: [{ reason: 'FieldValueInvalid' }] },
        },
      },
      'an invalid label',
    );
    t.match(await send('POST', list, namespace('a')), { status: 201 }, 'no labels');
    t.match(
      await send('PATCH', `${list}/a`, label({ [`${prefix}enforce`]: 'x' }), merge),
      { status: 422, body: { message: invalid } },
      'an update to an invalid label',
    );
    t.match(await send('POST', podsOf('a'), pod('host', { hostIPC: true })), { status: 201, warnings: [] }, 'any pod');
    t.same(await audited(podsOf('a')), { 'enforce-policy': 'privileged:latest' }, 'audited');
    const baseline = label({ [`${prefix}enforce`]: 'baseline', [`${prefix}warn`]: 'restricted' });
    t.match(
      await send('PATCH', `${list}/a`, baseline, merge),
      {
        status: 200,
        warnings: [
          'existing pods in namespace "a" violate the new PodSecurity enforce level "baseline:latest"',
          'host: host namespaces',
        ],
      },
      'a stricter level',
    );
    const apply = { ...pod('applied', { hostPID: true }) };
    t.match(
      await send('PATCH', `${podsOf('a')}/applied?fieldManager=m`, apply, 'application/apply-patch+yaml'),
      { status: 403, body: { message: /^pods "applied" is forbidden: violates PodSecurity "baseline:latest": / } },
      'applied pods',
    );
    t.match(
      await send('PATCH', `${podsOf('a')}/host`, label({ a: 'b' }), merge),
      { status: 200, warnings: [] },
      'labels of an existing pod',
    );
    const image = { spec: { containers: [{ name: 'c', image: 'j' }] } };
    const patch = 'application/strategic-merge-patch+json';
    t.match(await send('PATCH', `${podsOf('a')}/host`, image, patch), { status: 403 }, 'an image of an existing pod');
    const debug = { spec: { ephemeralContainers: [{ name: 'e', image: 'e', securityContext: { privileged: true } }] } };
    await send('POST', podsOf('a'), pod('plain'));
    t.match(
      await send('PATCH', `${podsOf('a')}/plain/ephemeralcontainers`, debug, patch),
      { status: 403, body: { message: /privileged \(container "e" must not set securityContext.privileged=true\)$/ } },
      'an ephemeral container',
    );
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'host' }, target: { name: 'n' } };
    t.match(await send('POST', `${podsOf('a')}/host/binding`, binding), { status: 201 }, 'a binding');
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { a: 'b' } }, template: label({ a: 'b' }) },
    };
    Object.assign(deployment.spec.template, { spec: pod('').spec });
    t.match(
      await send('POST', '/apis/apps/v1/namespaces/a/deployments', deployment),
      {
        status: 201,
        warnings: [/^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false \(/],
      },
      'a workload',
    );
    t.match(
      await metrics('pod_security_evaluations_total{decision="deny",policy_level="baseline"'),
      [
        /policy_version="latest",mode="enforce",request_operation="create",resource="pod",subresource=""} 1$/,
        /mode="enforce",request_operation="update",resource="pod",subresource=""} 1$/,
        /mode="enforce",request_operation="update",resource="pod",subresource="ephemeralcontainers"} 1$/,
      ],
      'metrics',
    );
  });
}

t.test('the gate and the option turn it off', async (t) => {
  for (const arg of ['--feature-gates=PodSecurity=false', '--disable-admission-plugins=ServiceAccount,PodSecurity']) {
    const { send } = await startWebhookCluster(t, orchDialect, [arg]);
    const labels = { [`pod-security.${orchDialect.labelDomain}/enforce`]: 'restricted' };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a', labels } };
    t.match(await send('POST', list, namespace), { status: 201 }, arg);
    t.match(await send('POST', podsOf('a'), pod('host', { hostIPC: true })), { status: 201 }, `${arg}: any pod`);
  }
});
