/** Every field of the Pod Security Standards, allowed and refused, in the words of 1.24. */
import t from 'tap';
import type { Volume } from '#api/core/v1/types.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { checkedPod } from '#apiserver/admission/podsecurity/standards/check.js';
import { shownReasons, shownViolations, violationsOf } from '#apiserver/admission/podsecurity/standards/evaluation.js';
import { type Level, latestVersion, parseVersion } from '#apiserver/admission/podsecurity/standards/level.js';
import { changedPod, type PodChange } from '#apiserver/admission/podsecurity/testing/pods.js';

function violations(change: PodChange, level: Level, version = 'latest', dialect: Dialect = kubernetesDialect) {
  const { metadata, spec } = changedPod(change);
  return violationsOf(checkedPod(metadata, spec, dialect), { level, version: parseVersion(version) ?? latestVersion });
}

const shown = (...args: Parameters<typeof violations>) => shownViolations(violations(...args));

/** Violations at the latest version; equal at both levels unless `restricted` differs. */
interface Row {
  readonly title: string;
  readonly change: PodChange;
  readonly baseline: string;
  readonly restricted?: string;
}

const allowed = (title: string, change: PodChange): Row => ({ title, change, baseline: '' });
const restricted = (title: string, change: PodChange, text: string): Row => ({
  title,
  change,
  baseline: '',
  restricted: text,
});
const all = (settings: string) => `containers "i", "c", "e" ${settings}`;

const host: readonly Row[] = [
  allowed('nothing', {}),
  allowed('host namespaces: false', { spec: { hostNetwork: false, hostPID: false, hostIPC: false } }),
  ...(['hostNetwork', 'hostPID', 'hostIPC'] as const).map((field) => ({
    title: field,
    change: { spec: { [field]: true } },
    baseline: `host namespaces (${field}=true)`,
  })),
  {
    title: 'all host namespaces',
    change: { spec: { hostIPC: true, hostPID: true, hostNetwork: true } },
    baseline: 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
  },
  allowed('privileged: false', { container: { privileged: false } }),
  {
    title: 'privileged',
    change: { container: { privileged: true } },
    baseline: 'privileged (container "c" must not set securityContext.privileged=true)',
  },
  {
    title: 'privileged containers of every type',
    change: { container: { privileged: true }, everywhere: true },
    baseline: `privileged (${all('must not set securityContext.privileged=true')})`,
  },
  allowed('hostPort: 0', { ports: [{ containerPort: 80, hostPort: 0 }] }),
  {
    title: 'one hostPort',
    change: { ports: [{ containerPort: 80, hostPort: 80 }] },
    baseline: 'hostPort (container "c" uses hostPort 80)',
  },
  {
    title: 'several host ports, in the order of their texts',
    change: {
      ports: [
        { containerPort: 9, hostPort: 9 },
        { containerPort: 80, hostPort: 80 },
        { containerPort: 53, protocol: 'UDP', hostPort: 9 },
      ],
      everywhere: true,
    },
    baseline: `hostPort (${all('use hostPorts 80, 9')})`,
  },
  allowed('hostProcess: false', {
    pod: { windowsOptions: { hostProcess: false } },
    container: { windowsOptions: { hostProcess: false } },
  }),
  {
    title: 'hostProcess of the pod',
    change: { pod: { windowsOptions: { hostProcess: true } } },
    baseline: 'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
  },
  {
    title: 'hostProcess of the pod and of containers',
    change: {
      pod: { windowsOptions: { hostProcess: true } },
      container: { windowsOptions: { hostProcess: true } },
      everywhere: true,
    },
    baseline: `hostProcess (pod and ${all('must not set securityContext.windowsOptions.hostProcess=true')})`,
  },
];

const type = 'must not set securityContext.seccompProfile.type to';
const kernel: readonly Row[] = [
  allowed('capabilities: none added', { container: { capabilities: { add: [], drop: ['ALL'] } } }),
  allowed('NET_BIND_SERVICE', { container: { capabilities: { add: ['NET_BIND_SERVICE'], drop: ['NET_RAW', 'ALL'] } } }),
  ...[
    ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD'],
    ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
  ].map((capability) =>
    restricted(
      `capability ${capability}`,
      { container: { capabilities: { add: [capability], drop: ['ALL'] } } },
      `unrestricted capabilities (container "c" must not include "${capability}" in securityContext.capabilities.add)`,
    ),
  ),
  ...['NET_RAW', 'SYS_ADMIN', 'ALL', 'chown', 'CAP_CHOWN', 'x"y'].map((capability) => ({
    title: `capability ${capability}`,
    change: { container: { capabilities: { add: [capability], drop: ['ALL'] } } },
    baseline: `non-default capabilities (container "c" must not include "${capability}" in securityContext.capabilities.add)`,
    restricted: `unrestricted capabilities (container "c" must not include "${capability}" in securityContext.capabilities.add)`,
  })),
  {
    title: 'several capabilities, without duplicates, in order',
    change: { container: { capabilities: { add: ['SYS_TIME', 'NET_RAW', 'SYS_TIME'] } }, everywhere: true },
    baseline: `non-default capabilities (${all('must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add')})`,
    restricted: `unrestricted capabilities (${all('must set securityContext.capabilities.drop=["ALL"]')}; ${all('must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add')})`,
  },
  restricted(
    'capabilities: not all dropped',
    { container: { capabilities: { drop: ['NET_RAW', 'all'] } } },
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])',
  ),
  allowed('procMount: Default', { container: { procMount: 'Default' } }),
  {
    title: 'procMount: Unmasked',
    change: { container: { procMount: 'Unmasked' }, everywhere: true },
    baseline: `procMount (${all('must not set securityContext.procMount to "Unmasked"')})`,
  },
  ...['', 'container_t', 'container_init_t', 'container_kvm_t'].map((name) =>
    allowed(`seLinuxOptions.type: "${name}"`, {
      pod: { seLinuxOptions: { type: name, level: 's0', user: '', role: '' } },
      container: { seLinuxOptions: { type: name, level: 's0', user: '', role: '' } },
    }),
  ),
  {
    title: 'seLinuxOptions: another type',
    change: { container: { seLinuxOptions: { type: 'spc_t' } } },
    baseline: 'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "spc_t")',
  },
  {
    title: 'seLinuxOptions: user, role and types',
    change: {
      pod: { seLinuxOptions: { type: 'b', user: 'u', role: 'r' } },
      container: { seLinuxOptions: { type: 'a' } },
    },
    baseline:
      'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: types "a", "b"; user may not be set; role may not be set)',
  },
  ...(['user', 'role'] as const).map((field) => ({
    title: `seLinuxOptions: only the ${field}, which 1.24 does not name then`,
    change: { pod: { seLinuxOptions: { [field]: 'x' } } },
    baseline: 'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: )',
  })),
  ...[
    ...['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.tcp_syncookies'],
    ...['net.ipv4.ping_group_range', 'net.ipv4.ip_unprivileged_port_start'],
  ].map((name) => allowed(`sysctl ${name}`, { pod: { sysctls: [{ name, value: '1' }] } })),
  {
    title: 'other sysctls, in their own order',
    change: { pod: { sysctls: ['net.core.somaxconn', 'net.ipv4.tcp_syncookies', 'kernel.msgmax'].map(sysctl) } },
    baseline: 'forbidden sysctls (net.core.somaxconn, kernel.msgmax)',
  },
  ...['RuntimeDefault', 'Localhost'].map((name) =>
    allowed(`seccompProfile: ${name}`, {
      pod: { seccompProfile: { type: name } },
      container: { seccompProfile: { type: name } },
    }),
  ),
  {
    title: 'seccompProfile: Unconfined in the pod',
    change: { pod: { seccompProfile: { type: 'Unconfined' } } },
    baseline: `seccompProfile (pod ${type} "Unconfined")`,
  },
  {
    title: 'seccompProfile: Unconfined in containers',
    change: { container: { seccompProfile: { type: 'Unconfined' } }, everywhere: true },
    baseline: `seccompProfile (${all(`${type} "Unconfined"`)})`,
  },
];

function sysctl(name: string) {
  return { name, value: '1' };
}

const required = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
const strict: readonly Row[] = [
  restricted(
    'allowPrivilegeEscalation: true',
    { container: { allowPrivilegeEscalation: true } },
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
  ),
  restricted(
    'no security contexts',
    { spec: { securityContext: {}, containers: [{ name: 'a' }, { name: 'b' }] } },
    [
      'allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false)',
      'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"])',
      'runAsNonRoot != true (pod or containers "a", "b" must set securityContext.runAsNonRoot=true)',
      `seccompProfile (pod or containers "a", "b" ${required})`,
    ].join(', '),
  ),
  allowed('runAsNonRoot and seccompProfile of each container alone', {
    spec: { securityContext: {} },
    container: { runAsNonRoot: true, seccompProfile: { type: 'Localhost', localhostProfile: 'p' } },
    everywhere: true,
  }),
  restricted(
    'runAsNonRoot: false in the pod',
    { pod: { runAsNonRoot: false }, container: { runAsNonRoot: true } },
    'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
  ),
  restricted(
    'runAsNonRoot: false everywhere',
    { pod: { runAsNonRoot: false }, container: { runAsNonRoot: false }, everywhere: true },
    `runAsNonRoot != true (pod and ${all('must not set securityContext.runAsNonRoot=false')})`,
  ),
  allowed('runAsUser', { pod: { runAsUser: 1 }, container: { runAsUser: 65534 } }),
  restricted('runAsUser: 0 in the pod', { pod: { runAsUser: 0 } }, 'runAsUser=0 (pod must not set runAsUser=0)'),
  restricted(
    'runAsUser: 0 everywhere',
    { pod: { runAsUser: 0 }, container: { runAsUser: 0 }, everywhere: true },
    `runAsUser=0 (pod and ${all('must not set runAsUser=0')})`,
  ),
];

/** Any content: only the type counts. */
const source = {} as never;
const freeVolumes: readonly (keyof Volume)[] = [
  ...(['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral'] as const),
  ...(['persistentVolumeClaim', 'projected', 'secret'] as const),
];
const otherVolumes: readonly (keyof Volume)[] = [
  ...([
    'gcePersistentDisk',
    'awsElasticBlockStore',
    'gitRepo',
    'nfs',
    'iscsi',
    'glusterfs',
    'rbd',
    'flexVolume',
  ] as const),
  ...(['cinder', 'cephfs', 'flocker', 'fc', 'azureFile', 'vsphereVolume', 'quobyte', 'azureDisk'] as const),
  ...(['photonPersistentDisk', 'portworxVolume', 'scaleIO', 'storageos'] as const),
];
const volumes: readonly Row[] = [
  ...freeVolumes.map((field) => allowed(`volume ${field}`, { spec: { volumes: [{ name: 'v', [field]: source }] } })),
  ...otherVolumes.map((field) =>
    restricted(
      `volume ${field}`,
      { spec: { volumes: [{ name: 'v', [field]: source }] } },
      `restricted volume types (volume "v" uses restricted volume type "${field}")`,
    ),
  ),
  {
    title: 'hostPath',
    change: { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } },
    baseline: 'hostPath volumes (volume "v")',
    restricted: 'restricted volume types (volume "v" uses restricted volume type "hostPath")',
  },
  {
    title: 'several volumes',
    change: {
      spec: {
        volumes: [
          { name: 'a', nfs: source },
          { name: 'b', hostPath: { path: '/' } },
          { name: 'c', hostPath: { path: '/' } },
          { name: 'd' },
        ],
      },
    },
    baseline: 'hostPath volumes (volumes "b", "c")',
    restricted:
      'restricted volume types (volumes "a", "b", "c", "d" use restricted volume types "hostPath", "nfs", "unknown")',
  },
];

for (const [what, rows] of Object.entries({ host, kernel, strict, volumes })) {
  t.test(`fields of the standards: ${what}`, async (t) => {
    for (const { title, change, baseline, restricted: stricter = baseline } of rows) {
      t.equal(shown(change, 'privileged'), '', `${title}: privileged`);
      t.equal(shown(change, 'baseline'), baseline, `${title}: baseline`);
      t.equal(shown(change, 'restricted'), stricter, `${title}: restricted`);
    }
  });
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`annotations: ${dialect.name}`, async (t) => {
    const appArmor = (name: string) => `container.apparmor.security.beta.${dialect.labelDomain}/${name}`;
    const seccomp = `seccomp.security.alpha.${dialect.labelDomain}/pod`;
    const seccompOf = (name: string) => `container.seccomp.security.alpha.${dialect.labelDomain}/${name}`;
    const at = (annotations: Readonly<Record<string, string>>, version?: string, level: Level = 'baseline') =>
      shown({ annotations }, level, version, dialect);
    for (const profile of ['', 'runtime/default', 'localhost/x', 'localhost/'])
      t.equal(at({ [appArmor('c')]: profile }), '', `AppArmor ${JSON.stringify(profile)}`);
    t.equal(
      at({ [appArmor('c')]: 'unconfined' }),
      `forbidden AppArmor profile (${appArmor('c')}="unconfined")`,
      'AppArmor unconfined',
    );
    t.equal(
      at({ [appArmor('z')]: 'un"confined', [appArmor('c')]: 'Localhost/x' }),
      `forbidden AppArmor profiles (${appArmor('c')}="Localhost/x", ${appArmor('z')}="un\\"confined")`,
      'AppArmor: in order, also for other containers',
    );
    for (const profile of ['runtime/default', 'docker/default', 'localhost/x'])
      t.equal(at({ [seccomp]: profile, [seccompOf('c')]: profile }, 'v1.18'), '', `seccomp ${profile}`);
    const both = { [seccomp]: 'unconfined', [seccompOf('c')]: '', [seccompOf('other')]: 'unconfined' };
    const text = `seccompProfile (forbidden annotations ${seccompOf('c')}="", ${seccomp}="unconfined")`;
    for (const level of ['baseline', 'restricted'] as const) {
      t.equal(at(both, 'v1.18', level), text, `seccomp until 1.18: ${level}`);
      t.equal(at(both, 'v1.19', level), '', `seccomp since 1.19: ${level}`);
    }
    t.equal(
      at({ [seccomp]: 'x' }, 'v1.0'),
      `seccompProfile (forbidden annotation ${seccomp}="x")`,
      'one seccomp annotation',
    );
  });
}

t.test('checks begin and end with their versions', async (t) => {
  const none = { spec: { securityContext: {}, containers: [{ name: 'c' }] } };
  const unconfined = { pod: { seccompProfile: { type: 'Unconfined' } } };
  const netRaw = { container: { capabilities: { add: ['NET_RAW'], drop: ['ALL'] } } };
  const hostPath = { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } };
  const rows: readonly (readonly [string, PodChange, Level, string, number, number?])[] = [
    ['host namespaces', { spec: { hostPID: true } }, 'baseline', 'host namespaces', 0],
    ['privileged', { container: { privileged: true } }, 'baseline', 'privileged', 0],
    ['hostProcess', { pod: { windowsOptions: { hostProcess: true } } }, 'baseline', 'hostProcess', 0],
    ['seccomp fields: baseline', unconfined, 'baseline', 'seccompProfile', 19],
    ['seccomp fields: restricted', none, 'restricted', 'seccompProfile', 19],
    ['escalation', none, 'restricted', 'allowPrivilegeEscalation != false', 8],
    ['capabilities: baseline', netRaw, 'baseline', 'non-default capabilities', 0],
    ['capabilities: until restricted has its own', netRaw, 'restricted', 'non-default capabilities', 0, 22],
    ['capabilities: restricted', netRaw, 'restricted', 'unrestricted capabilities', 22],
    ['runAsNonRoot', none, 'restricted', 'runAsNonRoot != true', 0],
    ['runAsUser', { pod: { runAsUser: 0 } }, 'restricted', 'runAsUser=0', 23],
    ['volumes', hostPath, 'restricted', 'restricted volume types', 0],
    ['hostPath', hostPath, 'restricted', 'hostPath volumes', 0, 0],
  ];
  const versions = [...Array.from({ length: 26 }, (_, minor) => `v1.${minor}`), 'v1.99', 'latest'];
  for (const [title, change, level, reason, since, until = Infinity] of rows) {
    const refusing = versions.filter((version) =>
      violations(change, level, version).some((violation) => violation.reason === reason),
    );
    const expected = versions.filter((version) => {
      const minor = version === 'latest' ? 100 : Number(version.slice('v1.'.length));
      return minor >= since && minor < until;
    });
    t.same(refusing, expected, title);
  }
});

t.test('summaries show reasons only', async (t) => {
  const change = { spec: { hostPID: true }, container: { privileged: true } };
  t.equal(shownReasons(violations(change, 'baseline')), 'host namespaces, privileged', 'two reasons');
  t.equal(shownReasons(violations({}, 'restricted')), '', 'none');
});
