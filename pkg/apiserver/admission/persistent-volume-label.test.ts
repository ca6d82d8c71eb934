import t from 'tap';
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { NodeSelectorTerm, PersistentVolume } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { PersistentVolumeLabel } from '#apiserver/admission/persistent-volume-label.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';

const volume = (
  spec: Partial<PersistentVolume['spec']>,
  metadata: PersistentVolume['metadata'] = {},
): PersistentVolume => ({
  metadata: { name: 'v', ...metadata },
  spec: { capacity: { storage: '1Gi' }, ...spec },
});
const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]) => ({ nodeAffinity: { required: { nodeSelectorTerms } } });

for (const dialect of [orchDialect, kubernetesDialect]) {
  const { zone, region } = dialect.labels;
  const provisioned = { annotations: { [dialect.annotations.provisionedBy]: 'x' } };
  const within = (key: string, ...values: string[]) => ({ key, operator: 'In', values });

  t.test(`${dialect.name}: provisioned volumes are bound to their zone and region`, async (t) => {
    const plugin = new PersistentVolumeLabel(dialect);
    const beta = `failure-domain.beta.${dialect.labelDomain}`;
    const labels = { [zone]: 'b__a', [region]: 'r' };
    const both = [within(zone, 'a', 'b'), within(region, 'r')];
    const aws = { awsElasticBlockStore: { volumeID: 'id' } };
    const other = within('x', 'y');
    const rows: readonly (readonly [string, PersistentVolume, NodeSelectorTerm[] | undefined])[] = [
      ['labels', volume(aws, { ...provisioned, labels }), [{ matchExpressions: both }]],
      [
        'beta labels',
        volume(aws, { ...provisioned, labels: { [`${beta}/zone`]: 'a', [`${beta}/region`]: 'r' } }),
        [{ matchExpressions: [within(`${beta}/zone`, 'a'), within(`${beta}/region`, 'r')] }],
      ],
      [
        'other requirements',
        volume({ ...aws, ...requiring({ matchExpressions: [other] }, {}) }, { ...provisioned, labels }),
        [{ matchExpressions: [other, ...both] }, { matchExpressions: both }],
      ],
      [
        'a requirement about the zone',
        volume({ ...aws, ...requiring({ matchExpressions: [within(zone, 'q')] }) }, { ...provisioned, labels }),
        [{ matchExpressions: [within(zone, 'q')] }],
      ],
      ['no cloud, not provisioned', volume({ hostPath: { path: '/x' } }, { labels }), undefined],
      [
        'no cloud, no region',
        volume({ nfs: { path: '/x', server: 's' } }, { ...provisioned, labels: { [zone]: 'a' } }),
        undefined,
      ],
    ];
    for (const [name, object, expected] of rows) {
      t.equal(await outcomeOf(plugin, persistentvolumes, { object }), 'admitted', name);
      t.same(object.spec.nodeAffinity?.required?.nodeSelectorTerms, expected, name);
    }
    const wrong = { ...provisioned, labels: { [zone]: 'a__', [region]: 'r' } };
    t.equal(
      await outcomeOf(plugin, persistentvolumes, { object: volume(aws, wrong) }),
      '403 persistentvolumes "v" is forbidden: failed to convert label string for Zone: a__ to a Set',
    );
  });
}

t.test('volumes of clouds without labels are refused for lack of a provider', async (t) => {
  const plugin = new PersistentVolumeLabel(orchDialect);
  const ask = (spec: Partial<PersistentVolume['spec']>, more: object = {}) =>
    outcomeOf(plugin, persistentvolumes, { object: volume(spec), ...more });
  const refused = (why: string) => `403 persistentvolumes "v" is forbidden: error querying ${why}`;
  const placeholder = 'placeholder-for-provisioning';
  for (const [spec, expected] of [
    [
      { awsElasticBlockStore: { volumeID: 'i' } },
      refused('AWS EBS volume i: unable to build AWS cloud provider for EBS'),
    ],
    [{ gcePersistentDisk: { pdName: 'i' } }, refused('GCE PD volume i: unable to build GCE cloud provider for PD')],
    [
      { azureDisk: { diskName: 'i', diskURI: 'u' } },
      refused('AzureDisk volume i: unable to build Azure cloud provider for AzureDisk'),
    ],
    [
      { cinder: { volumeID: 'i' } },
      refused('Cinder volume i: unable to build OpenStack cloud provider for Cinder disk'),
    ],
    [{ vsphereVolume: { volumePath: 'i' } }, refused('vSphere Volume i: unable to build vSphere cloud provider')],
    [{ awsElasticBlockStore: { volumeID: placeholder } }, 'admitted'],
    [{ gcePersistentDisk: { pdName: placeholder } }, 'admitted'],
    [
      { vsphereVolume: { volumePath: placeholder } },
      refused(`vSphere Volume ${placeholder}: unable to build vSphere cloud provider`),
    ],
    [{ csi: { driver: 'd', volumeHandle: 'h' } }, 'admitted'],
  ] as const)
    t.equal(await ask(spec), expected, JSON.stringify(spec));
  t.equal(await ask({ cinder: { volumeID: 'i' } }, { operation: 'UPDATE' }), 'admitted', 'an update');
});
