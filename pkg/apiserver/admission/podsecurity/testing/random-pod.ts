/** Random pods: each field of the Pod Security Standards is often absent, often allowed and sometimes not. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';

const volumeTypes =
  'hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret';
const sysctlNames = 'kernel.shm_rmid_forced net.ipv4.tcp_syncookies net.ipv4.ping_group_range kernel.msgmax';
const capabilities = 'ALL NET_BIND_SERVICE NET_RAW CHOWN SYS_ADMIN all';

export function randomPod(random: () => number): Pod {
  const chance = (probability: number) => random() < probability;
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const list = <T>(max: number, make: (i: number) => T): T[] =>
    Array.from({ length: Math.floor(random() * (max + 1)) }, (_, i) => make(i));
  /** The members whose chance comes. */
  const some = (members: Readonly<Record<string, readonly [number, () => unknown]>>) =>
    Object.fromEntries(
      Object.entries(members)
        .filter(([, [probability]]) => chance(probability))
        .map(([name, [, make]]) => [name, make()]),
    );
  const shared = {
    runAsNonRoot: [0.6, () => chance(0.8)],
    runAsUser: [0.3, () => pick([0, 1, 1000])],
    seccompProfile: [0.6, () => ({ type: pick(['RuntimeDefault', 'Localhost', 'Unconfined', 'RuntimeDefault']) })],
    windowsOptions: [0.1, () => some({ hostProcess: [0.7, () => chance(0.5)] })],
    seLinuxOptions: [
      0.2,
      () =>
        some({
          type: [0.6, () => pick(['', 'container_t', 'container_init_t', 'container_kvm_t', 'spc_t'])],
          user: [0.2, () => pick(['', 'u'])],
          role: [0.2, () => pick(['', 'r'])],
          level: [0.5, () => 's0'],
        }),
    ],
  } as const;
  const container = (name: string): Container => ({
    name,
    ...some({
      ports: [0.3, () => list(2, () => ({ containerPort: 1, ...some({ hostPort: [0.3, () => pick([0, 80, 443])] }) }))],
      securityContext: [
        0.9,
        () =>
          some({
            ...shared,
            privileged: [0.2, () => chance(0.3)],
            allowPrivilegeEscalation: [0.8, () => chance(0.2)],
            procMount: [0.2, () => pick(['Default', 'Unmasked'])],
            capabilities: [
              0.8,
              () =>
                some({
                  add: [0.3, () => list(2, () => pick(capabilities.split(' ')))],
                  drop: [
                    0.9,
                    () => ['ALL', ...list(2, () => pick(capabilities.split(' ')))].slice(chance(0.2) ? 1 : 0),
                  ],
                }),
            ],
          }),
      ],
    }),
  });
  return {
    metadata: { name: 'p' },
    spec: {
      containers: list(3, (i) => container(`c${i}`)),
      ...some({
        hostNetwork: [0.1, () => chance(0.5)],
        hostPID: [0.1, () => chance(0.5)],
        hostIPC: [0.1, () => chance(0.5)],
        volumes: [0.4, () => list(2, (i) => ({ name: `v${i}`, [pick(volumeTypes.split(' '))]: {} }))],
        initContainers: [0.3, () => list(2, (i) => container(`i${i}`))],
        ephemeralContainers: [0.2, () => list(2, (i) => container(`e${i}`))],
        securityContext: [
          0.8,
          () =>
            some({
              ...shared,
              sysctls: [0.2, () => list(2, () => ({ name: pick(sysctlNames.split(' ')), value: '1' }))],
            }),
        ],
      }),
    },
  };
}
