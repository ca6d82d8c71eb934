import t from 'tap';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import { createFailures, type Draft, withField, withGates } from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };

/** A pod with one volume of that source. */
const one = (source: object, ...failures: string[]): RuleRow => [
  'spec.volumes',
  [{ name: 'v', ...source }],
  ...failures,
];

const iqn = 'iqn.2015-02.example.com:test';
const iscsi = { targetPortal: '127.0.0.1', iqn };
const disk = { diskName: 'd', diskURI: 'https://a.example/c/d.vhd', kind: 'Shared' };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const template = (spec: object, metadata?: object) => ({ ephemeral: { volumeClaimTemplate: { metadata, spec } } });

const systems: RuleRow[] = [
  one({ gitRepo: { repository: 'r' } }),
  one({ gitRepo: {} }, 'spec.volumes[0].gitRepo.repository: Required value'),
  one(
    { gitRepo: { repository: 'r', directory: '/d' } },
    'spec.volumes[0].gitRepo.directory: Invalid value: "/d": must be a relative path',
  ),
  one(
    { gitRepo: { repository: 'r', directory: '../d' } },
    `spec.volumes[0].gitRepo.directory: Invalid value: "../d": must not contain '..'`,
  ),
  one({ gcePersistentDisk: { pdName: 'd', partition: 1 } }),
  one({ gcePersistentDisk: {} }, 'spec.volumes[0].persistentDisk.pdName: Required value'),
  one(
    { gcePersistentDisk: { pdName: 'd', partition: 256 } },
    'spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
  ),
  one(
    { awsElasticBlockStore: { volumeID: 'd', partition: -1 } },
    'spec.volumes[0].awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive',
  ),
  one({ awsElasticBlockStore: {} }, 'spec.volumes[0].awsElasticBlockStore.volumeID: Required value'),
  one({ nfs: { path: '/p' } }, 'spec.volumes[0].nfs.server: Required value'),
  one(
    { nfs: { server: 's' } },
    'spec.volumes[0].nfs.path: Required value',
    'spec.volumes[0].nfs.path: Invalid value: "": must be an absolute path',
  ),
  one({ iscsi }),
  one({ iscsi: { ...iscsi, iqn: 'eui.0123456789ABCDEF' } }),
  one({ iscsi: { ...iscsi, iqn: 'naa.62004567BA64678D0123456789ABCDEF' } }),
  one({ iscsi: {} }, 'spec.volumes[0].iscsi.targetPortal: Required value', 'spec.volumes[0].iscsi.iqn: Required value'),
  one(
    { iscsi: { ...iscsi, iqn: 'abc' } },
    'spec.volumes[0].iscsi.iqn: Invalid value: "abc": must be valid format starting with iqn, eui, or naa',
  ),
  one(
    { iscsi: { ...iscsi, iqn: 'iqn.bad' } },
    'spec.volumes[0].iscsi.iqn: Invalid value: "iqn.bad": must be valid format',
  ),
  one(
    { iscsi: { ...iscsi, iqn: 'eui.short' } },
    'spec.volumes[0].iscsi.iqn: Invalid value: "eui.short": must be valid format',
  ),
  one(
    { iscsi: { ...iscsi, iqn: 'naa.short' } },
    'spec.volumes[0].iscsi.iqn: Invalid value: "naa.short": must be valid format',
  ),
  one(
    { iscsi: { ...iscsi, lun: 256 } },
    'spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive',
  ),
  one({ iscsi: { ...iscsi, chapAuthSession: true } }, 'spec.volumes[0].iscsi.secretRef: Required value'),
  one({ iscsi: { ...iscsi, chapAuthDiscovery: true, secretRef: { name: 's' } } }),
  one(
    { iscsi: { ...iscsi, initiatorName: 'abc' } },
    'spec.volumes[0].iscsi.initiatorname: Invalid value: "abc": must be valid format starting with iqn, eui, or naa',
  ),
  one({ iscsi: { ...iscsi, initiatorName: iqn } }),
  one(
    { iscsi: { ...iscsi, initiatorName: iqn, targetPortal: 'x'.repeat(63) } },
    'spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
  ),
  one(
    { glusterfs: {} },
    'spec.volumes[0].glusterfs.endpoints: Required value',
    'spec.volumes[0].glusterfs.path: Required value',
  ),
  one({ flocker: {} }, 'spec.volumes[0].flocker: Required value: one of datasetName and datasetUUID is required'),
  one(
    { flocker: { datasetName: 'a', datasetUUID: 'b' } },
    'spec.volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
  ),
  one(
    { flocker: { datasetName: 'a/b' } },
    `spec.volumes[0].flocker.datasetName: Invalid value: "a/b": must not contain '/'`,
  ),
  one({ rbd: { monitors: ['m'], image: 'i' } }),
  one({ rbd: {} }, 'spec.volumes[0].rbd.monitors: Required value', 'spec.volumes[0].rbd.image: Required value'),
  one({ cinder: {} }, 'spec.volumes[0].cinder.volumeID: Required value'),
  one({ cinder: { volumeID: 'v', secretRef: {} } }, 'spec.volumes[0].cinder.secretRef.name: Required value'),
  one({ cephfs: { monitors: [] } }, 'spec.volumes[0].cephfs.monitors: Required value'),
  one(
    { emptyDir: {}, cephfs: { monitors: ['m'] } },
    'spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type',
  ),
  one({ quobyte: { registry: 'a:1,b:2', volume: 'v' } }),
  one(
    { quobyte: {} },
    'spec.volumes[0].quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas',
    'spec.volumes[0].quobyte.volume: Required value',
  ),
  one(
    { quobyte: { registry: 'a', volume: 'v' } },
    'spec.volumes[0].quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas',
  ),
  one(
    { quobyte: { registry: 'a:1', volume: 'v', tenant: 'x'.repeat(65) } },
    'spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters',
  ),
  one({ fc: { targetWWNs: ['w'], lun: 1 } }),
  one({ fc: { wwids: ['w'] } }),
  one(
    { fc: {} },
    'spec.volumes[0].fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both',
  ),
  one(
    { fc: { targetWWNs: ['w'], wwids: ['w'], lun: 1 } },
    'spec.volumes[0].fc.targetWWNs: Invalid value: []string{"w"}: targetWWNs and wwids can not be specified simultaneously',
  ),
  one(
    { fc: { targetWWNs: ['w'] } },
    'spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified',
  ),
  one(
    { fc: { targetWWNs: ['w'], lun: 256 } },
    'spec.volumes[0].fc.lun: Invalid value: 256: must be between 0 and 255, inclusive',
  ),
  one({ flexVolume: { driver: 'd', options: { 'example.com/a': 'b' } } }),
  one({ flexVolume: {} }, 'spec.volumes[0].flexVolume.driver: Required value'),
  one(
    { flexVolume: { driver: 'd', options: { 'a.orch.io/a': 'b' } } },
    'spec.volumes[0].flexVolume.options[a.orch.io/a]: Invalid value: "a.orch.io/a": orch.io namespaces are reserved',
  ),
  one(
    { azureFile: {} },
    'spec.volumes[0].azureFile.secretName: Required value',
    'spec.volumes[0].azureFile.shareName: Required value',
  ),
  one({ vsphereVolume: {} }, 'spec.volumes[0].vsphereVolume.volumePath: Required value'),
  one({ photonPersistentDisk: {} }, 'spec.volumes[0].photonPersistentDisk.pdID: Required value'),
  one({ portworxVolume: {} }, 'spec.volumes[0].portworxVolume.volumeID: Required value'),
  one({ azureDisk: disk }),
  one({ azureDisk: { ...disk, diskURI: '/subscriptions/x', kind: 'Managed' } }),
  one(
    { azureDisk: {} },
    'spec.volumes[0].azureDisk.diskName: Required value',
    'spec.volumes[0].azureDisk.diskURI: Required value',
    'spec.volumes[0].azureDisk.diskURI: Unsupported value: "": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
  ),
  one(
    { azureDisk: { ...disk, kind: 'Managed' } },
    'spec.volumes[0].azureDisk.diskURI: Unsupported value: "https://a.example/c/d.vhd": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
  ),
  one(
    { azureDisk: { ...disk, diskURI: '/subscriptions/x' } },
    'spec.volumes[0].azureDisk.diskURI: Unsupported value: "/subscriptions/x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
  ),
  one(
    { azureDisk: { ...disk, cachingMode: 'X', kind: 'Y' } },
    'spec.volumes[0].azureDisk.cachingMode: Unsupported value: "X": supported values: "None", "ReadOnly", "ReadWrite"',
    'spec.volumes[0].azureDisk.kind: Unsupported value: "Y": supported values: "Dedicated", "Managed", "Shared"',
  ),
  one({ storageos: { volumeName: 'v' } }),
  one({ storageos: {} }, 'spec.volumes[0].storageos.volumeName: Required value'),
  one(
    { storageos: { volumeName: 'V', volumeNamespace: 'N', secretRef: {} } },
    `spec.volumes[0].storageos.volumeName: Invalid value: "V": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    `spec.volumes[0].storageos.volumeNamespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    'spec.volumes[0].storageos.secretRef.name: Required value',
  ),
  one(
    { scaleIO: {} },
    'spec.volumes[0].scaleIO.gateway: Required value',
    'spec.volumes[0].scaleIO.system: Required value',
    'spec.volumes[0].scaleIO.volumeName: Required value',
  ),
  one({ csi: { driver: 'A.example.com' } }),
  one({ csi: { driver: 'x'.repeat(64) } }, 'spec.volumes[0].csi.driver: Too long: must have at most 63 bytes'),
  one(
    { csi: { driver: 'a_b' } },
    `spec.volumes[0].csi.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ),
  one(
    { csi: { driver: 'd', nodePublishSecretRef: {} } },
    'spec.volumes[0].csi.nodePublishSecretRef.name: Required value',
  ),
  one(
    { csi: { driver: 'd', nodePublishSecretRef: { name: 'S' } } },
    `spec.volumes[0].csi.name: Invalid value: "S": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ),
  one(
    { emptyDir: {}, gcePersistentDisk: { pdName: 'd' } },
    'spec.volumes[0].gcePersistentDisk: Forbidden: may not specify more than 1 volume type',
  ),
  one(
    { emptyDir: {}, downwardAPI: {} },
    'spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type',
  ),
  one(
    { hostPath: { path: '/a' }, nfs: { server: 's', path: '/' }, secret: { secretName: 's' } },
    'spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type',
    'spec.volumes[0].nfs: Forbidden: may not specify more than 1 volume type',
  ),
];

const files: RuleRow[] = [
  one(
    { secret: { secretName: 's', items: [{ key: 'k', path: 'p', mode: 512 }] } },
    'spec.volumes[0].secret.items[0].mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
  ),
  one(
    { configMap: { name: 'm', defaultMode: -1, items: [{ key: 'k', path: 'a/../b' }] } },
    'spec.volumes[0].configMap.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive',
    `spec.volumes[0].configMap.items[0].path: Invalid value: "a/../b": must not contain '..'`,
  ),
  one(
    { downwardAPI: { items: [{ fieldRef: { fieldPath: 'metadata.name' } }] } },
    'spec.volumes[0].downwardAPI.path: Required value',
  ),
  one(
    { downwardAPI: { items: [{ path: 'p', mode: 512, fieldRef: { fieldPath: 'status.podIP' } }] } },
    'spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
    'spec.volumes[0].downwardAPI.mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
  ),
  one(
    { downwardAPI: { items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }] } },
    'spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value',
  ),
  one(
    {
      downwardAPI: {
        items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' }, resourceFieldRef: { resource: 'limits.cpu' } }],
      },
    },
    'spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
  ),
  one(
    { downwardAPI: { items: [{ path: 'p', resourceFieldRef: { containerName: 'c', resource: 'limits.gpu' } }] } },
    'spec.volumes[0].downwardAPI.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
  ),
  one(
    { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: "metadata.labels['-']" } }] } },
    `spec.volumes[0].downwardAPI.fieldRef: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ),
  one({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: "metadata.annotations['A/b']" } }] } }),
  one(
    { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: "metadata.name['a']" } }] } },
    `spec.volumes[0].downwardAPI.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field label does not support subscript: metadata.name`,
  ),
  one(
    { projected: { defaultMode: 512, sources: [] } },
    'spec.volumes[0].projected.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
  ),
  one(
    { projected: { sources: [{ secret: {} }, { configMap: {} }] } },
    'spec.volumes[0].projected.sources[0].secret.name: Required value',
    'spec.volumes[0].projected.sources[1].configMap.name: Required value',
  ),
  one(
    { projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'm' } }] } },
    'spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type',
  ),
  one(
    {
      projected: {
        sources: [
          { secret: { name: 's', items: [{ key: 'k', path: 'p' }] } },
          { configMap: { name: 'm', items: [{ key: 'k', path: 'p' }] } },
          { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } },
        ],
      },
    },
    'spec.volumes[0].projected: Invalid value: "m": conflicting duplicate paths',
    'spec.volumes[0].projected: Invalid value: "p": conflicting duplicate paths',
  ),
];

const tokens: RuleRow[] = [
  one({ projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 600 } }] } }),
  one(
    { projected: { sources: [{ serviceAccountToken: { path: '' } }] } },
    'spec.volumes[0].projected.path: Required value',
  ),
  one(
    { projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 2 ** 32 + 1 } }] } },
    'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
  ),
];

const ephemeral: RuleRow[] = [
  one(template(claim)),
  one(template(claim, { labels: { a: 'b' }, annotations: { a: 'b' } })),
  one(
    template(claim, { name: 'n', labels: { a: '-' } }),
    `spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    'spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set for an ephemeral volume',
  ),
  one(
    template({}),
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required',
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value',
  ),
  one(
    template({ ...claim, accessModes: ['ReadWriteOncePod'] }),
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "ReadWriteOncePod": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
  ),
  [
    'spec.volumes',
    [
      { name: 'a', ...template(claim) },
      { name: 'b', persistentVolumeClaim: { claimName: 'p-a' } },
    ],
    'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-a": must not reference a PVC that gets created for an ephemeral volume',
  ],
  ['metadata.name', 'x'.repeat(252)],
];

t.test('storage systems', (t) => {
  checkRules(t, podStrategy, base, systems);
  t.end();
});

t.test('files in volumes', (t) => {
  checkRules(t, podStrategy, base, files);
  checkRules(t, podStrategy, withField(base, 'spec.serviceAccountName', 'sa'), tokens);
  t.end();
});

t.test('claims of ephemeral volumes', (t) => {
  checkRules(t, podStrategy, base, ephemeral);
  const single = withField(base, 'spec.volumes', [
    { name: 'v', ...template({ ...claim, accessModes: ['ReadWriteOncePod'] }) },
  ]);
  t.strictSame(createFailures(podStrategy, single, withGates({ ReadWriteOncePod: true })), []);
  const long = withField(
    withField(base, 'spec.volumes', [{ name: 'v', ...template(claim) }]),
    'metadata.name',
    'x'.repeat(252),
  );
  t.strictSame(createFailures(podStrategy, long), [
    `spec.volumes[0].name: Invalid value: "v": PVC name "${'x'.repeat(252)}-v": must be no more than 253 characters`,
  ]);
  t.end();
});
