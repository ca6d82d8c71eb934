import t from 'tap';
import { pods, services } from '#api/core/v1/resources.gen.js';
import type { Container, Pod, PodSpec, Service, Toleration } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { AlwaysPullImages } from '#apiserver/admission/always-pull-images.js';
import { DenyServiceExternalIPs } from '#apiserver/admission/deny-service-external-ips.js';
import { ExtendedResourceToleration } from '#apiserver/admission/extended-resource-toleration.js';
import { LimitPodHardAntiAffinityTopology } from '#apiserver/admission/limit-pod-anti-affinity.js';
import { SecurityContextDeny } from '#apiserver/admission/security-context-deny.js';
import { outcomeOf, requestFor } from '#apiserver/admission/testing/requests.js';

const pod = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const withContainer = (more: Partial<Container>) => pod({ containers: [{ name: 'c', image: 'i', ...more }] });
const admitted = 'admitted';
const refused = (why: string) => `403 pods "p" is forbidden: ${why}`;

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: required anti-affinity is limited to nodes`, async (t) => {
    const plugin = new LimitPodHardAntiAffinityTopology(dialect);
    const { hostname, zone } = dialect.labels;
    const away = (...keys: string[]) =>
      pod({
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: keys.map((topologyKey) => ({ topologyKey })),
          },
        },
      });
    const wide = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${zone} but only key ${hostname} is allowed`;
    const preferred = [{ weight: 1, podAffinityTerm: { topologyKey: zone } }];
    for (const [name, object, expected] of [
      ['none', pod(), admitted],
      ['over nodes', away(hostname), admitted],
      ['over zones', away(hostname, zone), refused(wide)],
      [
        'preferred over zones',
        pod({ affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } }),
        admitted,
      ],
      [
        'affinity over zones',
        pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zone }] } } }),
        admitted,
      ],
    ] as const)
      t.equal(await outcomeOf(plugin, pods, { object }), expected, name);
    const update = { operation: 'UPDATE', object: away(zone), oldObject: pod() } as const;
    t.equal(await outcomeOf(plugin, pods, update), refused(wide), 'an update');
    t.equal(await outcomeOf(plugin, pods, { ...update, subresource: 'status' }), admitted, 'its status');
  });

  t.test(`${dialect.name}: pods tolerate the taints of extended resources that they request`, async (t) => {
    const plugin = new ExtendedResourceToleration(dialect);
    const added = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
    const requesting = (...names: string[]): Partial<Container> => ({
      resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) },
    });
    const tolerating = (...tolerations: Toleration[]) =>
      pod({ tolerations, containers: [{ name: 'c', ...requesting('a.b/c') }] });
    const rows: readonly (readonly [name: string, object: Pod, expected: readonly Toleration[] | undefined])[] = [
      ['native resources', withContainer(requesting('cpu', `${dialect.labelDomain}/x`, 'requests.a.b/c')), undefined],
      ['limits only', withContainer({ resources: { limits: { 'a.b/c': '1' } } }), undefined],
      ['sorted', withContainer(requesting('a.b/z', 'a.b/c')), [added('a.b/c'), added('a.b/z')]],
      ['of init containers', pod({ initContainers: [{ name: 'i', ...requesting('a.b/c') }] }), [added('a.b/c')]],
      ['present already', tolerating(added('a.b/c'), { key: 'x' }), [added('a.b/c'), { key: 'x' }]],
      [
        'with another effect',
        tolerating({ key: 'a.b/c', operator: 'Exists' }),
        [{ key: 'a.b/c', operator: 'Exists' }, added('a.b/c')],
      ],
    ];
    for (const [name, object, expected] of rows) {
      t.equal(await outcomeOf(plugin, pods, { object }), admitted, name);
      t.strictSame(object.spec.tolerations, expected, name);
    }
  });
}

t.test('security contexts with users, groups or SELinux options are refused', async (t) => {
  const plugin = new SecurityContextDeny();
  const own = 'pod.Spec.SecurityContext';
  for (const [object, expected] of [
    [pod(), admitted],
    [pod({ securityContext: { runAsNonRoot: true, runAsGroup: 1, sysctls: [] } }), admitted],
    [
      pod({ securityContext: { supplementalGroups: [1], fsGroup: 1 } }),
      refused(`${own}.SupplementalGroups is forbidden`),
    ],
    [pod({ securityContext: { seLinuxOptions: {} } }), refused(`${own}.SELinuxOptions is forbidden`)],
    [pod({ securityContext: { runAsUser: 0 } }), refused(`${own}.RunAsUser is forbidden`)],
    [pod({ securityContext: { fsGroup: 0 } }), refused(`${own}.FSGroup is forbidden`)],
    [withContainer({ securityContext: { privileged: true } }), admitted],
    [withContainer({ securityContext: { runAsUser: 0 } }), refused('SecurityContext.RunAsUser is forbidden')],
    [
      withContainer({ securityContext: { seLinuxOptions: {} } }),
      refused('SecurityContext.SELinuxOptions is forbidden'),
    ],
    [
      pod({ initContainers: [{ name: 'i', securityContext: { runAsUser: 1 } }] }),
      refused('SecurityContext.RunAsUser is forbidden'),
    ],
  ] as const)
    t.equal(await outcomeOf(plugin, pods, { object }), expected, JSON.stringify(object.spec));
  const object = pod({ securityContext: { runAsUser: 0 } });
  t.equal(await outcomeOf(plugin, pods, { object, subresource: 'ephemeralcontainers' }), admitted, 'a subresource');
});

t.test('images are always pulled', async (t) => {
  const plugin = new AlwaysPullImages(orchDialect);
  const object = pod({
    initContainers: [{ name: 'i', image: 'i', imagePullPolicy: 'Never' }],
    ephemeralContainers: [{ name: 'e', image: 'i', imagePullPolicy: 'IfNotPresent' }],
  });
  await plugin.admit(requestFor(pods, { object }));
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    t.match(object.spec[list], [{ imagePullPolicy: 'Always' }], list);

  const validated = (given: Pod) => {
    try {
      plugin.validate(requestFor(pods, { object: given }));
      return admitted;
    } catch (error) {
      return `${(error as { code: number }).code} ${(error as Error).message}`;
    }
  };
  const why = (place: string, policy: string) =>
    `pods "p" is forbidden: spec.${place}.imagePullPolicy: Unsupported value: "${policy}": supported values: "Always"`;
  t.equal(validated(object), admitted, 'as admitted');
  t.equal(
    validated(withContainer({ imagePullPolicy: 'Never' })),
    `500 ${why('containers[0]', 'Never')}`,
    'one changed',
  );
  t.equal(
    validated(pod({ initContainers: [{ name: 'i', imagePullPolicy: 'IfNotPresent' }] })),
    `500 [${why('initContainers[0]', 'IfNotPresent')}, ${why('containers[0]', '')}]`,
    'several changed',
  );
  const update = (image: string) =>
    requestFor(pods, { operation: 'UPDATE', object: withContainer({ image }), oldObject: pod() });
  t.notOk(plugin.handles(update('i')), 'an update without a new image');
  t.ok(plugin.handles(update('j')), 'an update with a new image');
  t.notOk(plugin.handles(requestFor(pods, { object, subresource: 'status' })), 'a subresource');
});

t.test('services get no new external addresses', async (t) => {
  const plugin = new DenyServiceExternalIPs(orchDialect);
  const service = (...externalIPs: string[]): Service => ({ metadata: { name: 's' }, spec: { externalIPs } });
  const denied = '403 services "s" is forbidden: Use of external IPs is denied by admission control';
  const update = (object: Service, oldObject: Service) => ({ operation: 'UPDATE', object, oldObject }) as const;
  for (const [name, request, expected] of [
    ['created without', { object: service() }, admitted],
    ['created with', { object: service('1.2.3.4') }, denied],
    ['kept', update(service('1.2.3.4'), service('1.2.3.4', '1.2.3.5')), admitted],
    ['added', update(service('1.2.3.4', '1.2.3.6'), service('1.2.3.4')), denied],
    ['removed', update(service(), service('1.2.3.4')), admitted],
    ['of the status', { ...update(service('1.2.3.4'), service()), subresource: 'status' }, admitted],
  ] as const)
    t.equal(await outcomeOf(plugin, services, request), expected, name);
});
