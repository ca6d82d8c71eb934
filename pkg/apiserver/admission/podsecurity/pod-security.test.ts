/** Which requests the plugin checks, and what it answers, audits and counts. */
import { Registry } from 'prom-client';
import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { cronjobs } from '#api/batch/v1/resources.gen.js';
import { namespaces, pods, podtemplates, replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { StatusError } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import { PodSecurityMetrics } from '#apiserver/admission/podsecurity/metrics.js';
import { PodSecurity } from '#apiserver/admission/podsecurity/pod-security.js';
import { podSecurityConfiguration } from '#apiserver/admission/podsecurity/policy/configuration.js';
import { changedPod } from '#apiserver/admission/podsecurity/testing/pods.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { silentLogger } from '#daemon/log/logger.js';

function setup({ configuration, dialect = kubernetesDialect }: { configuration?: object; dialect?: Dialect } = {}) {
  const reader = new MemoryObjectReader();
  const registry = new Registry();
  const value = {
    apiVersion: `pod-security.admission.config.${dialect.apiDomain}/v1`,
    kind: 'PodSecurityConfiguration',
    ...configuration,
  };
  const plugin = new PodSecurity({
    dialect,
    reader,
    configuration: podSecurityConfiguration({ path: 'f', value }, dialect),
    metrics: new PodSecurityMetrics(registry, dialect),
    storageOf: () => undefined,
    clock: realClock,
    log: silentLogger,
    turns: { pause: () => undefined },
  });
  const prefix = `pod-security.${dialect.labelDomain}/`;
  const namespace = (labels: Readonly<Record<string, string>>): Namespace => ({
    metadata: {
      name: 'ns',
      labels: Object.fromEntries(Object.entries(labels).map(([name, text]) => [prefix + name, text])),
    },
    spec: {},
  });
  const send = async (resource: ResourceDeclaration, more: Partial<AdmissionAttributes>) => {
    const annotations: Record<string, string> = {};
    const warnings: string[] = [];
    const audit = { annotate: (key: string, text: string) => void Object.assign(annotations, { [key]: text }) };
    const attributes = {
      operation: 'CREATE',
      resource,
      subresource: '',
      namespace: 'ns',
      name: more.object?.metadata.name ?? '',
      user: { name: 'alice', groups: [] },
      dryRun: false,
      scope: { context: { audit } },
      warn: (text: string) => void warnings.push(text),
      ...more,
    } as AdmissionAttributes;
    const handled = plugin.handles(attributes);
    let status: StatusError['status'] | undefined;
    try {
      if (handled) await plugin.validate(attributes);
    } catch (error) {
      ({ status } = error as StatusError);
    }
    const short = Object.fromEntries(Object.entries(annotations).map(([key, text]) => [key.replace(prefix, ''), text]));
    return { handled, refused: status?.message, code: status?.code, warnings, annotations: short };
  };
  const counts = async () => {
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('pod_security_'));
    return lines.filter((line) => !line.endsWith(' 0'));
  };
  return { reader, send, namespace, counts, prefix };
}

const host = changedPod({ spec: { hostPID: true } });
const good = changedPod();
const template = { metadata: { labels: { a: 'b' } }, spec: host.spec };
const violates = (level: string) => `PodSecurity "${level}": host namespaces (hostPID=true)`;

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`modes: ${dialect.name}`, async (t) => {
    const { reader, send, namespace } = setup({ dialect });
    const create = async (labels: Readonly<Record<string, string>>, object: Pod = host) => {
      reader.put(namespaces, namespace(labels));
      const { handled, ...answer } = await send(pods, { object });
      t.ok(handled, 'pods are checked');
      return answer;
    };
    const allowed = { refused: undefined, code: undefined, warnings: [] };
    const open = { ...allowed, annotations: { 'enforce-policy': 'privileged:latest' } };
    t.same(await create({}), open, 'no labels');
    t.same(await create({ enforce: 'privileged', 'enforce-version': 'v1.3' }), open, 'privileged of another version');
    t.same(
      await create({ enforce: 'baseline', audit: 'baseline', warn: 'baseline' }),
      {
        refused: `pods "p" is forbidden: violates ${violates('baseline:latest')}`,
        code: 403,
        warnings: [],
        annotations: {
          'enforce-policy': 'baseline:latest',
          'audit-violations': `would violate ${violates('baseline:latest')}`,
        },
      },
      'a refused pod is audited, without a warning',
    );
    t.same(
      await create({ warn: 'restricted', 'warn-version': 'v1.20' }),
      {
        ...allowed,
        warnings: [`would violate ${violates('restricted:v1.20')}`],
        annotations: { 'enforce-policy': 'privileged:latest' },
      },
      'warn',
    );
    t.same(
      await create({ audit: 'baseline', 'audit-version': 'v1.5' }),
      {
        ...allowed,
        annotations: {
          'enforce-policy': 'privileged:latest',
          'audit-violations': `would violate ${violates('baseline:v1.5')}`,
        },
      },
      'audit',
    );
    t.same(
      await create({ enforce: 'restricted', warn: 'restricted' }, good),
      { ...allowed, annotations: { 'enforce-policy': 'restricted:latest' } },
      'a pod that keeps all rules',
    );
  });
}

t.test('workloads are audited and warned about', async (t) => {
  const { reader, send, namespace } = setup();
  reader.put(namespaces, namespace({ enforce: 'restricted', audit: 'baseline', warn: 'baseline' }));
  const answer = {
    handled: true,
    refused: undefined,
    code: undefined,
    warnings: [`would violate ${violates('baseline:latest')}`],
    annotations: { 'audit-violations': `would violate ${violates('baseline:latest')}` },
  };
  const metadata = { name: 'w', namespace: 'ns' };
  const object = { metadata, spec: { template } } as ApiObjectShape;
  t.same(await send(deployments, { object }), answer, 'Deployment');
  t.same(await send(replicationcontrollers, { object }), answer, 'ReplicationController');
  t.same(await send(podtemplates, { object: { metadata, template } as ApiObjectShape }), answer, 'PodTemplate');
  const job = { metadata, spec: { jobTemplate: { spec: { template } } } } as ApiObjectShape;
  t.same(await send(cronjobs, { object: job }), answer, 'CronJob');
  t.same(await send(deployments, { operation: 'UPDATE', object, oldObject: object }), answer, 'every update');
  const without = { metadata, spec: {} } as ApiObjectShape;
  t.match(await send(replicationcontrollers, { object: without }), { warnings: [], annotations: {} }, 'no template');
  reader.put(namespaces, namespace({ enforce: 'restricted' }));
  t.match(await send(deployments, { object }), { refused: undefined, warnings: [] }, 'enforce does not concern them');
});

t.test('what is not checked', async (t) => {
  const { reader, send, namespace } = setup();
  reader.put(namespaces, namespace({ enforce: 'baseline' }));
  for (const subresource of ['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status'])
    t.notOk((await send(pods, { subresource, object: host })).handled, `pods/${subresource}`);
  for (const operation of ['DELETE', 'CONNECT'] as const)
    t.notOk((await send(pods, { operation, object: host })).handled, operation);
  for (const subresource of ['status', 'scale'])
    t.notOk((await send(deployments, { operation: 'UPDATE', subresource, object: host })).handled, subresource);
  for (const subresource of ['status', 'finalize'])
    t.notOk((await send(namespaces, { operation: 'UPDATE', subresource, object: host })).handled, subresource);
  const update = { operation: 'UPDATE', oldObject: host } as const;
  t.match(
    await send(pods, { ...update, object: host }),
    { refused: undefined, annotations: {} },
    'an update of labels',
  );
  const changed = changedPod({ spec: { hostPID: true, containers: [{ name: 'c', image: 'j' }] } });
  t.match(await send(pods, { ...update, object: changed }), { code: 403 }, 'an update of an image');
  const debugged = changedPod({ spec: { hostPID: true, ephemeralContainers: [{ name: 'e', image: 'e' }] } });
  const ephemeral = { ...update, subresource: 'ephemeralcontainers', object: debugged };
  t.match(await send(pods, ephemeral), { handled: true, code: 403 }, 'an ephemeral container');
});

t.test('exemptions', async (t) => {
  const exemptions = { usernames: ['boss'], namespaces: ['free'], runtimeClasses: ['safe'] };
  const { reader, send, namespace, counts } = setup({ configuration: { exemptions } });
  reader.put(namespaces, namespace({ enforce: 'baseline', warn: 'baseline' }));
  const exempt = (reason: string) => ({ refused: undefined, warnings: [], annotations: { exempt: reason } });
  t.match(await send(pods, { object: host, user: { name: 'boss', groups: [] } }), exempt('user'), 'user');
  t.match(await send(pods, { object: host, namespace: 'free' }), exempt('namespace'), 'namespace');
  const sandboxed = changedPod({ spec: { hostPID: true, runtimeClassName: 'safe' } });
  t.match(await send(pods, { object: sandboxed }), exempt('runtimeClass'), 'runtime class');
  const object = { metadata: { name: 'd' }, spec: { template: { spec: sandboxed.spec } } } as ApiObjectShape;
  t.match(await send(deployments, { object }), exempt('runtimeClass'), 'runtime class of a workload');
  t.match(await send(pods, { object: host }), { code: 403 }, 'others');
  t.same(
    (await counts()).filter((line) => line.startsWith('pod_security_exemptions')),
    [
      'pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} 3',
      'pod_security_exemptions_total{request_operation="create",resource="controller",subresource=""} 1',
    ],
    'counted',
  );
});

t.test('defaults apply where a namespace has no label', async (t) => {
  const { reader, send, namespace } = setup({
    configuration: { defaults: { enforce: 'baseline', 'enforce-version': 'v1.20' } },
  });
  reader.put(namespaces, namespace({}));
  t.match(
    await send(pods, { object: host }),
    { refused: `pods "p" is forbidden: violates ${violates('baseline:v1.20')}` },
    'without labels',
  );
  reader.put(namespaces, namespace({ enforce: 'privileged' }));
  t.match(await send(pods, { object: host }), { refused: undefined }, 'with a label');
});

t.test('invalid labels and missing namespaces', async (t) => {
  const { reader, send, namespace, counts, prefix } = setup();
  const object = { metadata: { name: 'd' }, spec: { template } } as ApiObjectShape;
  t.match(
    await send(pods, { object: host }),
    {
      refused: 'Internal error occurred: failed to lookup namespace ns',
      code: 500,
      annotations: {
        error: 'Internal error occurred: failed to lookup namespace ns: namespaces "ns" not found',
      },
    },
    'a pod in a missing namespace',
  );
  t.match(
    await send(deployments, { object }),
    { refused: undefined, annotations: { error: 'failed to lookup namespace ns: namespaces "ns" not found' } },
    'a workload in a missing namespace',
  );
  reader.put(namespaces, namespace({ enforce: 'x', 'warn-version': 'y', warn: 'baseline' }));
  const failure = (label: string, text: string, rule: string) =>
    `metadata.labels[${prefix}${label}]: Invalid value: "${text}": ${rule}`;
  const error = `Failed to parse policy: [${failure('enforce', 'x', 'must be one of privileged, baseline, restricted')}, ${failure('warn-version', 'y', 'must be "latest" or "v1.x"')}]`;
  t.match(
    await send(pods, { object: host }),
    { code: 403, annotations: { error, 'enforce-policy': 'restricted:latest' } },
    'an invalid level is enforced as restricted',
  );
  t.match(await send(deployments, { object }), { warnings: [/^would violate/], annotations: { error } }, 'a workload');
  t.same(
    (await counts()).filter((line) => line.startsWith('pod_security_errors')),
    [
      'pod_security_errors_total{fatal="true",request_operation="create",resource="pod",subresource=""} 1',
      'pod_security_errors_total{fatal="true",request_operation="create",resource="controller",subresource=""} 1',
      'pod_security_errors_total{fatal="false",request_operation="create",resource="pod",subresource=""} 1',
      'pod_security_errors_total{fatal="false",request_operation="create",resource="controller",subresource=""} 1',
    ],
    'counted',
  );
});

t.test('labels of namespaces', async (t) => {
  const { send, namespace, prefix } = setup({ configuration: { exemptions: { namespaces: ['free'] } } });
  const bad = namespace({ enforce: 'x' });
  const refusal = `Namespace "ns" is invalid: metadata.labels[${prefix}enforce]: Invalid value: "x": must be one of privileged, baseline, restricted`;
  const update = (oldObject: Namespace, object: Namespace) =>
    send(namespaces, { operation: 'UPDATE', object, oldObject });
  t.match(await send(namespaces, { object: bad }), { refused: refusal, code: 422 }, 'create');
  t.match(await send(namespaces, { object: namespace({ enforce: 'restricted' }) }), { refused: undefined }, 'valid');
  t.match(await update(namespace({}), bad), { refused: refusal, code: 422 }, 'update');
  t.match(await update(bad, bad), { refused: undefined }, 'invalid labels that were invalid before');
  t.match(await update(bad, namespace({ enforce: 'y' })), { code: 422 }, 'another invalid label');
  const failed = { warnings: ['failed to list pods while checking new PodSecurity enforce level'] };
  const [none, baseline] = [namespace({}), namespace({ enforce: 'baseline' })];
  t.match(await update(none, baseline), failed, 'pods that cannot be listed');
  t.same((await update(baseline, namespace({ enforce: 'baseline', warn: 'restricted' }))).warnings, [], 'another mode');
  t.same((await update(namespace({ enforce: 'restricted' }), baseline)).warnings, [], 'a less strict level');
  t.same((await update(baseline, none)).warnings, [], 'privileged');
  const older = namespace({ enforce: 'baseline', 'enforce-version': 'v1.5' });
  t.match(await update(namespace({ enforce: 'restricted' }), older), failed, 'another version may be stricter');
  const free = { ...baseline, metadata: { ...baseline.metadata, name: 'free' } };
  t.match(await update(none, free), { warnings: [], annotations: { exempt: 'namespace' } }, 'an exempt namespace');
});

t.test('evaluations are counted by level and version', async (t) => {
  const { reader, send, namespace, counts } = setup();
  const create = async (labels: Readonly<Record<string, string>>) => {
    reader.put(namespaces, namespace(labels));
    await send(pods, { object: host });
  };
  await create({ enforce: 'privileged', 'enforce-version': 'v1.5' });
  await create({ enforce: 'baseline', 'enforce-version': 'v1.24', audit: 'restricted', 'audit-version': 'v1.25' });
  await create({ warn: 'baseline' });
  const line = (decision: string, level: string, version: string, mode: string, count: number) =>
    `pod_security_evaluations_total{decision="${decision}",policy_level="${level}",policy_version="${version}",mode="${mode}",request_operation="create",resource="pod",subresource=""} ${count}`;
  t.same(
    await counts(),
    [
      line('allow', 'privileged', 'latest', 'enforce', 2),
      line('deny', 'baseline', 'v1.24', 'enforce', 1),
      line('deny', 'restricted', 'future', 'audit', 1),
      line('deny', 'baseline', 'latest', 'warn', 1),
    ],
    'series',
  );
});
