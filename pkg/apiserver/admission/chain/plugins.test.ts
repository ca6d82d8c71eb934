import { Registry } from 'prom-client';
import t from 'tap';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import {
  events,
  limitranges,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import type { Namespace, Node, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import {
  admissionPlugins,
  onlyPlugins,
  type PluginChoice,
  type PluginDependencies,
  pluginWarnings,
  unknownPlugins,
} from '#apiserver/admission/chain/plugins.js';
import { EventRateLimit } from '#apiserver/admission/event-rate-limit/event-rate-limit.js';
import { requestFor, runPlugin } from '#apiserver/admission/testing/requests.js';
import { WebhookMetrics } from '#apiserver/admission/webhook/webhook-metrics.js';
import { AlwaysAllowAuthorizer, AlwaysDenyAuthorizer } from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { sharedLookup } from '#apiserver/webhooks/shared-lookup.js';
import { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import { silentLogger } from '#daemon/log/logger.js';

async function setupAll(choice: PluginChoice, more: Partial<PluginDependencies> = {}) {
  return await admissionPlugins(
    {
      dialect,
      reader: new MemoryObjectReader(),
      authorizer: new AlwaysAllowAuthorizer(),
      clock: realClock,
      storageOf: () => undefined,
      client: () => {
        throw new Error('no server');
      },
      openBackend: () => Promise.reject(new Error('no webhooks')),
      webhooks: {
        client: new WebhookClient({
          clock: realClock,
          resolve: () => Promise.reject(new Error('no services')),
          lookup: sharedLookup(() => Promise.resolve([])),
          userAgent: 'test',
          maxCalls: 1,
        }),
        log: silentLogger,
        metrics: new WebhookMetrics(new Registry()),
        newUID: () => 'uid',
      },
      turns: { pause: () => undefined },
      metrics: new Registry(),
      gate: (name) => name === 'PodSecurity',
      random: () => 0,
      notReadySeconds: 300,
      unreachableSeconds: 60,
      ...more,
    },
    choice,
  );
}

async function setup(only: string, authorizer: Authorizer = new AlwaysAllowAuthorizer()) {
  const reader = new MemoryObjectReader();
  const enabled = await setupAll({ enabled: [only], disabled: [] }, { reader, authorizer });
  const plugins = enabled.filter(({ name }) => name === only);
  const admit = async (resource: ResourceDeclaration, more: Partial<AdmissionAttributes>) => {
    for (const plugin of plugins) await runPlugin(plugin, requestFor(resource, more));
  };
  return { reader, admit };
}

const pod = (spec: Partial<Pod['spec']> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const refused = (message: RegExp) => ({ name: 'StatusError', status: { reason: 'Forbidden' }, message });

t.test('NamespaceLifecycle refuses objects in missing and terminating namespaces', async (t) => {
  const { reader, admit } = await setup('NamespaceLifecycle');
  const create = () => admit(pods, { object: pod() });
  await t.rejects(create(), { message: 'namespaces "ns" not found' });
  const namespace: Namespace = { metadata: { name: 'ns' }, spec: {}, status: { phase: 'Active' } };
  reader.put(namespaces, namespace);
  await create();
  reader.put(namespaces, { ...namespace, status: { phase: 'Terminating' } });
  await t.rejects(create(), {
    ...refused(/^pods "p" is forbidden: unable to create new content in namespace ns because it is being terminated$/),
    status: { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
  });
  await admit(pods, { operation: 'UPDATE', object: pod(), oldObject: pod() });
  for (const name of ['default', 'orch-system', 'orch-public'])
    await t.rejects(
      admit(namespaces, { operation: 'DELETE', name }),
      refused(/this namespace may not be deleted/),
      name,
    );
  await admit(namespaces, { operation: 'DELETE', name: 'ns' });
});

t.test('LimitRanger sets defaults and enforces limits', async (t) => {
  const { reader, admit } = await setup('LimitRanger');
  reader.put(limitranges, {
    metadata: { name: 'l', namespace: 'ns' },
    spec: {
      limits: [
        {
          type: 'Container',
          defaultRequest: { cpu: '100m' },
          default: { cpu: '200m' },
          min: { cpu: '50m' },
          max: { cpu: '1' },
          maxLimitRequestRatio: { cpu: '4' },
        },
        { type: 'Pod', max: { cpu: '1500m' } },
        { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } },
      ],
    },
  });
  const plain = pod();
  await admit(pods, { object: plain });
  t.same(plain.spec.containers[0]?.resources, { requests: { cpu: '100m' }, limits: { cpu: '200m' } });
  t.match(
    plain.metadata.annotations?.['orch.io/limit-ranger'],
    'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
  );
  const sized = (requests: string, limits: string, count = 1) =>
    pod({
      containers: Array.from({ length: count }, (_, i) => ({
        name: `c${i}`,
        resources: { requests: { cpu: requests }, limits: { cpu: limits } },
      })),
    });
  for (const [object, message] of [
    [sized('10m', '40m'), /minimum cpu usage per Container is 50m, but request is 10m/],
    [sized('1', '2'), /maximum cpu usage per Container is 1, but limit is 2/],
    [sized('100m', '500m'), /cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000/],
    [sized('500m', '1', 2), /maximum cpu usage per Pod is 1500m, but limit is 2/],
  ] as const)
    await t.rejects(admit(pods, { object }), refused(message));
  const claim = (storage: string): PersistentVolumeClaim => ({
    metadata: { name: 'v' },
    spec: { resources: { requests: { storage } } },
  });
  await admit(persistentvolumeclaims, { object: claim('1Gi') });
  await t.rejects(
    admit(persistentvolumeclaims, { object: claim('2Gi') }),
    refused(/maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi/),
  );
});

t.test('a pod is refused if its containers times the limit ranges’ amounts are too many', async (t) => {
  const { reader, admit } = await setup('LimitRanger');
  const amounts = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a.b/k${i}`, '1']));
  reader.put(limitranges, {
    metadata: { name: 'l', namespace: 'ns' },
    spec: { limits: [{ type: 'Container', default: amounts, max: amounts }] },
  });
  const of = (count: number) =>
    pod({ containers: Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: 'i' })) });
  await admit(pods, { object: of(10) });
  await t.rejects(
    admit(pods, { object: of(1000) }),
    refused(/the limit ranges of the namespace have 2000 amounts, which is too many for 1000 containers/),
  );
});

t.test('pods without containers are left to validation', async (t) => {
  for (const name of ['LimitRanger', 'ServiceAccount']) {
    const { reader, admit } = await setup(name);
    reader.put(limitranges, {
      metadata: { name: 'l', namespace: 'ns' },
      spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
    });
    reader.put(serviceaccounts, { metadata: { name: 'default', namespace: 'ns' } });
    const object = { metadata: { name: 'p' }, spec: {} } as ApiObjectShape;
    await t.resolves(admit(pods, { object }), name);
  }
});

t.test('Priority resolves the priority class of a pod', async (t) => {
  const { reader, admit } = await setup('Priority');
  const priorityOf = async (spec: Partial<Pod['spec']>) => {
    const object = pod(spec);
    await admit(pods, { object });
    return [object.spec.priorityClassName, object.spec.priority, object.spec.preemptionPolicy];
  };
  t.same(await priorityOf({}), [undefined, 0, 'PreemptLowerPriority']);
  t.same(await priorityOf({ priorityClassName: 'system-node-critical' }), [
    'system-node-critical',
    2_000_001_000,
    'PreemptLowerPriority',
  ]);
  await t.rejects(priorityOf({ priorityClassName: 'none' }), refused(/no PriorityClass with name none was found/));
  await t.rejects(priorityOf({ priority: 5 }), refused(/integer value of priority \(5\) must not be provided/));
  reader.put(priorityclasses, {
    metadata: { name: 'usual' },
    value: 7,
    globalDefault: true,
    preemptionPolicy: 'Never',
  });
  t.same(await priorityOf({}), ['usual', 7, 'Never']);
  const second = { metadata: { name: 'second' }, value: 8, globalDefault: true };
  await t.rejects(
    admit(priorityclasses, { object: second }),
    refused(/PriorityClass usual is already marked as default/),
  );
});

t.test('defaults: tolerations, taints, classes', async (t) => {
  const seconds = await setup('DefaultTolerationSeconds');
  const own = pod({ tolerations: [{ key: dialect.taints.notReady, operator: 'Exists', effect: 'NoExecute' }] });
  await seconds.admit(pods, { object: own });
  t.same(
    own.spec.tolerations?.map(({ key, tolerationSeconds }) => [key, tolerationSeconds]),
    [
      ['node.orch.io/not-ready', undefined],
      ['node.orch.io/unreachable', 60],
    ],
  );
  const all = pod({ tolerations: [{ operator: 'Exists' }] });
  await seconds.admit(pods, { object: all });
  t.equal(all.spec.tolerations?.length, 1);

  const node: Node = { metadata: { name: 'n' }, spec: {} };
  await (await setup('TaintNodesByCondition')).admit(nodes, { object: node });
  t.same(node.spec?.taints, [{ key: 'node.orch.io/not-ready', effect: 'NoSchedule' }]);

  const storage = await setup('DefaultStorageClass');
  const claim = (more: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
    metadata: {},
    spec: more,
  });
  const named = async (object: PersistentVolumeClaim) => {
    await storage.admit(persistentvolumeclaims, { object });
    return object.spec.storageClassName;
  };
  t.equal(await named(claim()), undefined);
  const annotations = { 'storageclass.orch.io/is-default-class': 'true' };
  storage.reader.put(storageclasses, { metadata: { name: 'fast', annotations }, provisioner: 'x' });
  t.equal(await named(claim()), 'fast');
  t.equal(await named(claim({ storageClassName: '' })), '');

  const runtime = await setup('RuntimeClass');
  await t.rejects(
    runtime.admit(pods, { object: pod({ runtimeClassName: 'kata' }) }),
    refused(/RuntimeClass "kata" not found/),
  );
  runtime.reader.put(runtimeclasses, {
    metadata: { name: 'kata' },
    handler: 'kata',
    overhead: { podFixed: { cpu: '1' } },
    scheduling: { nodeSelector: { a: 'b' } },
  });
  const kata = pod({ runtimeClassName: 'kata' });
  await runtime.admit(pods, { object: kata });
  t.match(kata.spec, { overhead: { cpu: '1' }, nodeSelector: { a: 'b' } });
});

t.test('volumes and claims get protection finalizers', async (t) => {
  const { admit } = await setup('StorageObjectInUseProtection');
  const claim: PersistentVolumeClaim = { metadata: { name: 'c' }, spec: {} };
  await admit(persistentvolumeclaims, { object: claim });
  await admit(persistentvolumeclaims, { object: claim });
  t.strictSame(claim.metadata.finalizers, ['orch.io/pvc-protection'], 'once');
  const volume = { metadata: { name: 'v', finalizers: ['a.b/c'] }, spec: {} };
  await admit(persistentvolumes, { object: volume });
  t.strictSame(volume.metadata.finalizers, ['a.b/c', 'orch.io/pv-protection']);
  const left: PersistentVolumeClaim = { metadata: { name: 'c' }, spec: {} };
  await admit(persistentvolumeclaims, { operation: 'UPDATE', object: left, oldObject: claim });
  t.equal(left.metadata.finalizers, undefined, 'finalizers removed by an update stay removed');
});

t.test('claims may grow only if their class allows it', async (t) => {
  const { reader, admit } = await setup('PersistentVolumeClaimResize');
  reader.put(
    storageclasses,
    { metadata: { name: 'grows' }, provisioner: 'x', allowVolumeExpansion: true },
    { metadata: { name: 'fixed' }, provisioner: 'x', allowVolumeExpansion: false },
    { metadata: { name: 'silent' }, provisioner: 'x' },
  );
  const annotation = 'volume.beta.orch.io/storage-class';
  const claim = (storage: string, storageClassName?: string, annotated?: string): PersistentVolumeClaim => ({
    metadata: { name: 'c', ...(annotated === undefined ? {} : { annotations: { [annotation]: annotated } }) },
    spec: { resources: { requests: { storage } }, ...(storageClassName === undefined ? {} : { storageClassName }) },
    status: { phase: 'Bound' },
  });
  const unbound = { ...claim('1Gi', 'grows'), status: { phase: 'Pending' } };
  const unsupported =
    /^persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize$/;
  const rows: [what: string, old: PersistentVolumeClaim, changed: PersistentVolumeClaim, message?: RegExp][] = [
    ['a class that lets it', claim('1Gi', 'grows'), claim('2Gi', 'grows')],
    ['by annotation', claim('1Gi', 'fixed', 'grows'), claim('2Gi', 'fixed', 'grows')],
    ['the same amount in other words', claim('1Gi', 'fixed'), claim('1024Mi', 'fixed')],
    ['less is for validation', claim('2Gi', 'fixed'), claim('1Gi', 'fixed')],
    ['not bound', unbound, claim('2Gi', 'grows'), /forbidden: Only bound persistent volume claims can be expanded$/],
    ['a class that does not', claim('1Gi', 'fixed'), claim('2Gi', 'fixed'), unsupported],
    ['a class that says nothing', claim('1Gi', 'silent'), claim('2Gi', 'silent'), unsupported],
    ['a class that is not there', claim('1Gi', 'gone'), claim('2Gi', 'gone'), unsupported],
    ['no class', claim('1Gi'), claim('2Gi'), unsupported],
    ['another class', claim('1Gi', 'fixed'), claim('2Gi', 'grows'), unsupported],
  ];
  for (const [what, oldObject, object, message] of rows) {
    const update = admit(persistentvolumeclaims, { operation: 'UPDATE', object, oldObject });
    if (message === undefined) await t.resolves(update, what);
    else await t.rejects(update, refused(message), what);
  }
});

t.test('only authorized users approve and sign certificates', async (t) => {
  const request = (signerName: string, text: string) => ({
    metadata: { name: 'r' },
    spec: { signerName, request: Buffer.from(text).toString('base64') },
  });
  const { apiServerClient } = dialect.signers;
  const { admit } = await setup('CertificateSubjectRestriction');
  await admit(certificatesigningrequests, { object: request('other/x', 'no') });
  await t.rejects(
    admit(certificatesigningrequests, { object: request(apiServerClient, 'no') }),
    refused(/unable to parse request/),
  );
  const csr = request(apiServerClient, '');
  for (const [plugin, subresource] of [
    ['CertificateApproval', 'approval'],
    ['CertificateSigning', 'status'],
  ] as const) {
    const update = {
      operation: 'UPDATE',
      subresource,
      oldObject: csr,
      object: { ...csr, status: { certificate: 'x' } },
    } as const;
    await (await setup(plugin)).admit(certificatesigningrequests, update);
    await t.rejects(
      (await setup(plugin, new AlwaysDenyAuthorizer())).admit(certificatesigningrequests, update),
      refused(/user not permitted to/),
    );
  }
});

t.test('unknown plugin names are reported', (t) => {
  t.same(unknownPlugins(['NodeRestriction', 'PodSecurity', 'Nonsense']), ['Nonsense']);
  t.end();
});

t.test('enabled plugins that are deprecated are reported', async (t) => {
  t.strictSame(unknownPlugins(['PodSecurityPolicy', 'Nothing', 'constructor']), ['Nothing', 'constructor']);
  t.strictSame(pluginWarnings(['Priority', 'PodSecurityPolicy', 'AlwaysAdmit']), [
    {
      plugin: 'AlwaysAdmit',
      text: 'This admission plugin is deprecated: remove it from configuration files and scripts',
    },
  ]);
});

t.test('plugins run in the order of 1.24, whatever the order of the options', async (t) => {
  const names = ['AlwaysDeny', 'SecurityContextDeny', 'LimitRanger', 'AlwaysAdmit'];
  const plugins = await setupAll(onlyPlugins(names));
  t.strictSame(
    plugins.map(({ name }) => name),
    ['AlwaysAdmit', 'SecurityContextDeny', 'LimitRanger', 'AlwaysDeny'],
  );
});

t.test('no object makes a plugin fail in another way than by a refusal', async (t) => {
  const { disabled: names } = onlyPlugins([]);
  const skipped = new Set([
    'EventRateLimit',
    'ImagePolicyWebhook',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionWebhook',
  ]);
  const plugins = await setupAll(onlyPlugins(names.filter((name) => !skipped.has(name))));
  const limits = [{ type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 9 }] as const;
  plugins.push(new EventRateLimit({ limits, clock: realClock }));
  const objects = new RandomObjects(seededRandom(37));
  for (const resource of [pods, services, persistentvolumes, events, namespaces, nodes]) {
    const { type } = schemeFor(dialect).resourceOf(resource);
    for (let round = 0; round < 60; round++) {
      const object = { metadata: {}, ...objects.object(type) } as ApiObjectShape;
      const oldObject = { metadata: {}, ...objects.object(type) } as ApiObjectShape;
      for (const operation of ['CREATE', 'UPDATE'] as const) {
        const request = requestFor(resource, { operation, object, ...(operation === 'CREATE' ? {} : { oldObject }) });
        for (const plugin of plugins.filter((one) => one.resources !== undefined && one.handles(request))) {
          for (const step of ['admit', 'validate'] as const) {
            try {
              await plugin[step]?.(request);
            } catch (error) {
              if (statusOf(error) === undefined) t.fail(`${plugin.name} of ${resource.resource}: ${error}`, { object });
            }
          }
        }
      }
    }
  }
  t.pass('all refusals are Statuses');
});
