/** Policies and pods for the plugin PodSecurityPolicy: every field of both, allowed and refused. */

export interface PolicyCase {
  readonly name: string;
  readonly spec: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PodCase {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The policies of a case, and the pods that a user creates who may use all of them. */
export interface Case {
  readonly policies: readonly PolicyCase[];
  readonly pods: Readonly<Record<string, PodCase>>;
}

const container = { name: 'c', image: 'i' };
const any = { rule: 'RunAsAny' };
const permissive = { seLinux: any, runAsUser: any, supplementalGroups: any, fsGroup: any, volumes: ['*'] };
const policy = (spec: object = {}, annotations: PolicyCase['annotations'] = {}, name = 'p'): PolicyCase => ({
  name,
  spec: { ...permissive, ...spec },
  annotations,
});
/** A pod with these fields in its container's security context. */
const own = (context: object): PodCase => ({ spec: { containers: [{ ...container, securityContext: context }] } });
/** A pod with these fields in its own security context. */
const whole = (context: object): PodCase => ({ spec: { securityContext: context } });
const ranges = [
  { min: 10, max: 20 },
  { min: 30, max: 30 },
];
const volumes: Readonly<Record<string, object>> = {
  hostPath: { path: '/a' },
  emptyDir: {},
  gcePersistentDisk: { pdName: 'a' },
  awsElasticBlockStore: { volumeID: 'a' },
  gitRepo: { repository: 'a' },
  secret: { secretName: 'a' },
  nfs: { server: 'a', path: '/' },
  iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:storage', lun: 0 },
  glusterfs: { endpoints: 'a', path: '/' },
  persistentVolumeClaim: { claimName: 'a' },
  rbd: { monitors: ['a'], image: 'a' },
  flexVolume: { driver: 'a/b' },
  cinder: { volumeID: 'a' },
  cephfs: { monitors: ['a'] },
  flocker: { datasetName: 'a' },
  downwardAPI: { items: [] },
  fc: { targetWWNs: ['a'], lun: 1 },
  azureFile: { secretName: 'a', shareName: 'b' },
  configMap: { name: 'a' },
  vsphereVolume: { volumePath: 'a' },
  quobyte: { registry: 'a:1', volume: 'v' },
  azureDisk: { diskName: 'a', diskURI: 'https://a.blob.core.windows.net/b/a.vhd' },
  photonPersistentDisk: { pdID: 'a' },
  storageos: { volumeName: 'a' },
  projected: { sources: [] },
  portworxVolume: { volumeID: 'a' },
  scaleIO: { gateway: 'a', system: 'b', secretRef: { name: 'c' }, volumeName: 'd' },
  csi: { driver: 'a.b' },
  ephemeral: {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  },
};
const withVolume = (source: object, mounts: readonly object[] = []): PodCase => ({
  spec: {
    serviceAccountName: 'default',
    containers: [{ ...container, volumeMounts: mounts }],
    volumes: [{ name: 'v', ...source }],
  },
});
const token = (more: object = {}, ...sources: object[]) =>
  withVolume({
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', ...more } },
        { configMap: { name: 'kube-root-ca.crt' } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
        ...sources,
      ],
    },
  });
const appArmor = (profile: string): PodCase => ({
  annotations: { 'container.apparmor.security.beta.kubernetes.io/c': profile },
});
const appArmorKey = 'apparmor.security.beta.kubernetes.io';
const seccompKey = 'seccomp.security.alpha.kubernetes.io';
const groupRules = (field: string, pods: Case['pods']): Readonly<Record<string, Case>> =>
  Object.fromEntries(
    ['MustRunAs', 'MayRunAs', 'RunAsAny'].map((rule) => [
      `${field} ${rule}`,
      { policies: [policy({ [field]: rule === 'RunAsAny' ? any : { rule, ranges } })], pods },
    ]),
  );
const users: Case['pods'] = {
  none: {},
  inside: own({ runAsUser: 15 }),
  other: own({ runAsUser: 30 }),
  outside: own({ runAsUser: 21 }),
  root: own({ runAsUser: 0 }),
  'of the pod': whole({ runAsUser: 15 }),
  'of the pod, outside': whole({ runAsUser: 1 }),
  'maybe root': own({ runAsNonRoot: false }),
  'not root': own({ runAsNonRoot: true }),
  'not root, by the pod': whole({ runAsNonRoot: true }),
  'of several containers': {
    spec: {
      initContainers: [{ ...container, name: 'first', securityContext: { runAsUser: 1 } }],
      containers: [container, { ...container, name: 'd', securityContext: { runAsUser: 2 } }],
    },
  },
};
const selinux = { level: 's0:c6,c0', role: 'r', type: 't', user: 'u' };
const label = { ...selinux, level: 's0:c0,c6' };
const ports = (...hostPorts: number[]): PodCase => ({
  spec: {
    containers: [{ ...container, ports: hostPorts.map((hostPort) => ({ containerPort: hostPort + 1, hostPort })) }],
  },
});

export const cases: Readonly<Record<string, Case>> = {
  'no policy': { policies: [], pods: { plain: {} } },
  'a permissive policy': {
    policies: [policy()],
    pods: {
      plain: {},
      privileged: own({ privileged: true }),
      'not privileged': own({ privileged: false }),
      'host network': { spec: { hostNetwork: true } },
      'host PID': { spec: { hostPID: true } },
      'host IPC': { spec: { hostIPC: true } },
      'several faults': { spec: { hostNetwork: true, hostPID: true, hostIPC: true, ...ports(80).spec } },
      escalation: own({ allowPrivilegeEscalation: true }),
      capability: own({ capabilities: { add: ['KILL'] } }),
      'runtime class': { spec: { runtimeClassName: 'a' } },
    },
  },
  'a policy for the host': {
    policies: [policy({ privileged: true, hostNetwork: true, hostPID: true, hostIPC: true })],
    pods: {
      privileged: own({ privileged: true }),
      host: { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
    },
  },
  'user MustRunAs': { policies: [policy({ runAsUser: { rule: 'MustRunAs', ranges } })], pods: users },
  'user MustRunAsNonRoot': { policies: [policy({ runAsUser: { rule: 'MustRunAsNonRoot' } })], pods: users },
  'user RunAsAny': { policies: [policy()], pods: users },
  ...groupRules('runAsGroup', {
    none: {},
    inside: own({ runAsGroup: 15 }),
    outside: own({ runAsGroup: 21 }),
    'of the pod': whole({ runAsGroup: 30 }),
    'of the pod, outside': whole({ runAsGroup: 31 }),
  }),
  ...groupRules('fsGroup', { none: {}, inside: whole({ fsGroup: 15 }), outside: whole({ fsGroup: 21 }) }),
  ...groupRules('supplementalGroups', {
    none: {},
    inside: whole({ supplementalGroups: [15, 30] }),
    outside: whole({ supplementalGroups: [15, 21, 31] }),
  }),
  'SELinux MustRunAs': {
    policies: [policy({ seLinux: { rule: 'MustRunAs', seLinuxOptions: selinux } })],
    pods: {
      none: {},
      equal: whole({ seLinuxOptions: selinux }),
      'in another order': whole({ seLinuxOptions: label }),
      'of the container': own({ seLinuxOptions: label }),
      different: whole({ seLinuxOptions: { level: 's1:c6,c0', role: 'x', type: 'y', user: 'z' } }),
      'another category': own({ seLinuxOptions: { ...selinux, level: 's0:c6' } }),
      'no level': whole({ seLinuxOptions: { role: 'r', type: 't', user: 'u' } }),
    },
  },
  capabilities: {
    policies: [
      policy({
        defaultAddCapabilities: ['CHOWN', 'AUDIT_WRITE'],
        requiredDropCapabilities: ['KILL', 'MKNOD'],
        allowedCapabilities: ['SYS_TIME'],
      }),
    ],
    pods: {
      none: {},
      allowed: own({ capabilities: { add: ['SYS_TIME'] } }),
      'not allowed': own({ capabilities: { add: ['SYS_ADMIN', 'SYS_TIME', 'ALL'] } }),
      'drops a default': own({ capabilities: { drop: ['CHOWN'] } }),
      complete: own({ capabilities: { add: ['AUDIT_WRITE', 'CHOWN'], drop: ['KILL', 'MKNOD'] } }),
      'adds what is dropped': own({ capabilities: { add: ['KILL'] } }),
    },
  },
  'all capabilities': {
    policies: [policy({ allowedCapabilities: ['*'] })],
    pods: { none: {}, some: own({ capabilities: { add: ['SYS_ADMIN'], drop: ['KILL'] } }) },
  },
  'a read-only root': {
    policies: [policy({ readOnlyRootFilesystem: true })],
    pods: {
      none: {},
      read: own({ readOnlyRootFilesystem: true }),
      write: own({ readOnlyRootFilesystem: false }),
    },
  },
  'no escalation': {
    policies: [policy({ allowPrivilegeEscalation: false })],
    pods: {
      none: {},
      escalates: own({ allowPrivilegeEscalation: true }),
      'does not': own({ allowPrivilegeEscalation: false }),
    },
  },
  'no escalation by default': {
    policies: [policy({ defaultAllowPrivilegeEscalation: false })],
    pods: { none: {}, escalates: own({ allowPrivilegeEscalation: true }) },
  },
  'escalation by default': {
    policies: [policy({ defaultAllowPrivilegeEscalation: true })],
    pods: { none: {}, 'does not': own({ allowPrivilegeEscalation: false }) },
  },
  'ports of the node': {
    policies: [
      policy({
        hostPorts: [
          { min: 80, max: 80 },
          { min: 8000, max: 8080 },
        ],
      }),
    ],
    pods: { first: ports(80), last: ports(8080), others: ports(79, 81, 7999, 8081), none: ports(0) },
  },
  'no ports of the node': { policies: [policy()], pods: { one: ports(80) } },
  'kernel parameters': {
    policies: [
      policy({ allowedUnsafeSysctls: ['kernel.msg*', 'net.core.a'], forbiddenSysctls: ['kernel.shm_rmid_forced'] }),
    ],
    pods: {
      safe: whole({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] }),
      forbidden: whole({ sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] }),
      unsafe: whole({
        sysctls: [
          { name: 'kernel.msgmax', value: '1' },
          { name: 'net.core.a', value: '1' },
          { name: 'net.core.ab', value: '1' },
        ],
      }),
    },
  },
  'no kernel parameters': {
    policies: [policy({ forbiddenSysctls: ['*'] })],
    pods: { safe: whole({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] }) },
  },
  ...Object.fromEntries(
    Object.entries(volumes).map(([type, source]) => [
      `volume ${type}`,
      {
        policies: [policy({ volumes: [type === 'cephfs' ? 'cephFS' : type] })],
        pods: { one: withVolume({ [type]: source }) },
      },
    ]),
  ),
  'no volumes': {
    policies: [policy({ volumes: [] })],
    pods: Object.fromEntries(Object.entries(volumes).map(([type, source]) => [type, withVolume({ [type]: source })])),
  },
  "the account's token where secrets are allowed": {
    policies: [policy({ volumes: ['secret'] })],
    pods: {
      token: token(),
      'for another audience': token({ audience: 'a' }),
      'in another file': token({ path: 'b' }),
      'another source': token({}, { secret: { name: 's' } }),
      'another ConfigMap': token({}, { configMap: { name: 'm' } }),
      'another field': token(
        {},
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ),
    },
  },
  'paths of the node': {
    policies: [
      policy({
        allowedHostPaths: [
          { pathPrefix: '/read', readOnly: true },
          { pathPrefix: '/write/' },
          { pathPrefix: '/read/not' },
        ],
      }),
    ],
    pods: {
      write: withVolume({ hostPath: { path: '/write/a' } }, [{ name: 'v', mountPath: '/m' }]),
      same: withVolume({ hostPath: { path: '/write' } }),
      read: withVolume({ hostPath: { path: '/read/' } }, [{ name: 'v', mountPath: '/m', readOnly: true }]),
      'read, mounted for writing': withVolume({ hostPath: { path: '/read/a' } }, [
        { name: 'v', mountPath: '/m', readOnly: true },
        { name: 'v', mountPath: '/n' },
      ]),
      'written below': withVolume({ hostPath: { path: '/read/not/a' } }, [{ name: 'v', mountPath: '/m' }]),
      'another path': withVolume({ hostPath: { path: '/writer' } }),
      root: withVolume({ hostPath: { path: '/' } }),
    },
  },
  drivers: {
    policies: [policy({ allowedFlexVolumes: [{ driver: 'a/b' }], allowedCSIDrivers: [{ name: 'a.b' }] })],
    pods: {
      flexible: withVolume({ flexVolume: { driver: 'a/b' } }),
      'another flexible one': withVolume({ flexVolume: { driver: 'a/c' } }),
      inline: withVolume({ csi: { driver: 'a.b' } }),
      'another inline one': withVolume({ csi: { driver: 'a.c' } }),
    },
  },
  'runtime classes': {
    policies: [policy({ runtimeClass: { allowedRuntimeClassNames: ['a', 'b'], defaultRuntimeClassName: 'a' } })],
    pods: {
      none: {},
      allowed: { spec: { runtimeClassName: 'b' } },
      another: { spec: { runtimeClassName: 'c' } },
    },
  },
  'any runtime class': {
    policies: [policy({ runtimeClass: { allowedRuntimeClassNames: ['*'] } })],
    pods: { none: {}, one: { spec: { runtimeClassName: 'c' } } },
  },
  'no runtime class': {
    policies: [policy({ runtimeClass: { allowedRuntimeClassNames: [] } })],
    pods: { none: {}, one: { spec: { runtimeClassName: 'c' } } },
  },
  'AppArmor profiles': {
    policies: [
      policy(
        {},
        {
          [`${appArmorKey}/defaultProfileName`]: 'runtime/default',
          [`${appArmorKey}/allowedProfileNames`]: 'runtime/default,localhost/a',
        },
      ),
    ],
    pods: { none: {}, allowed: appArmor('localhost/a'), another: appArmor('localhost/b') },
  },
  'required AppArmor profiles': {
    policies: [policy({}, { [`${appArmorKey}/allowedProfileNames`]: 'localhost/a' })],
    pods: { none: {}, allowed: appArmor('localhost/a') },
  },
  'seccomp profiles': {
    policies: [
      policy(
        {},
        {
          [`${seccompKey}/defaultProfileName`]: 'runtime/default',
          [`${seccompKey}/allowedProfileNames`]: 'docker/default,localhost/a',
        },
      ),
    ],
    pods: {
      none: {},
      field: whole({ seccompProfile: { type: 'RuntimeDefault' } }),
      'local field': whole({ seccompProfile: { type: 'Localhost', localhostProfile: 'a' } }),
      'another local field': whole({ seccompProfile: { type: 'Localhost', localhostProfile: 'b' } }),
      unconfined: whole({ seccompProfile: { type: 'Unconfined' } }),
      'of the container': own({ seccompProfile: { type: 'Localhost', localhostProfile: 'a' } }),
      'of the container, another': own({ seccompProfile: { type: 'Unconfined' } }),
      annotation: { annotations: { [`${seccompKey}/pod`]: 'localhost/a' } },
      'another annotation': { annotations: { [`${seccompKey}/pod`]: 'unconfined' } },
      "the container's annotation": {
        annotations: { 'container.seccomp.security.alpha.kubernetes.io/c': 'unconfined' },
      },
    },
  },
  'any seccomp profile': {
    policies: [policy({}, { [`${seccompKey}/allowedProfileNames`]: '*' })],
    pods: { none: {}, unconfined: whole({ seccompProfile: { type: 'Unconfined' } }) },
  },
  'no seccomp profile': {
    policies: [policy()],
    pods: {
      field: whole({ seccompProfile: { type: 'RuntimeDefault' } }),
      'of the container': own({ seccompProfile: { type: 'RuntimeDefault' } }),
    },
  },
  'several policies': {
    policies: [
      policy({ runAsUser: { rule: 'MustRunAs', ranges } }, {}, 'b-changes'),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }, {}, 'c-changes'),
      policy({ volumes: ['secret'] }, {}, 'z-unchanged'),
      policy({ privileged: true, fsGroup: { rule: 'MustRunAs', ranges } }, {}, 'a-privileged'),
    ],
    pods: {
      'one admits it unchanged': {},
      'the first changes it': withVolume({ emptyDir: {} }),
      'one is for privileged pods': own({ privileged: true }),
      'none admits it': { spec: { hostPID: true } },
    },
  },
};
