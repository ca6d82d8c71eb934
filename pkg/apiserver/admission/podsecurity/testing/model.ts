/**
 * A slow, obvious implementation of the Pod Security Standards, as their documentation has them: paths of fields and the
 * values that they may have. It names the reasons of violations, not the details.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Level } from '#apiserver/admission/podsecurity/standards/level.js';

type Values = readonly unknown[];

interface Rule {
  readonly reason: string;
  readonly levels: readonly Level[];
  readonly since?: number;
  readonly until?: number;
  /** `*`: the containers of every type. `[]`: the elements of a list. `[]` at the end: of lists of values. */
  readonly paths: readonly string[];
  /** Whether all values of the paths together are allowed; absent fields are undefined. */
  readonly allowed: (values: Values, pod: Pod) => boolean;
}

const both: readonly Level[] = ['baseline', 'restricted'];
const each =
  (...allowed: Values) =>
  (values: Values) =>
    values.every((value) => allowed.includes(value));
const none = each(undefined, false);
const of = (...names: readonly string[]) =>
  names.flatMap((name) => [`spec.securityContext.${name}`, `*.securityContext.${name}`]);

const freeVolumes = 'configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret'.split(' ');
const defaultCapabilities =
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT';
const sysctls =
  'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start';
const runtimeProfile = (value: unknown) => value === 'RuntimeDefault' || value === 'Localhost';

const rules: readonly Rule[] = [
  {
    reason: 'host namespaces',
    levels: both,
    paths: ['spec.hostNetwork', 'spec.hostPID', 'spec.hostIPC'],
    allowed: none,
  },
  { reason: 'hostPath volumes', levels: ['baseline'], paths: ['spec.volumes[].hostPath'], allowed: each(undefined) },
  { reason: 'hostPort', levels: both, paths: ['*.ports[].hostPort'], allowed: each(undefined, 0) },
  { reason: 'privileged', levels: both, paths: ['*.securityContext.privileged'], allowed: none },
  { reason: 'hostProcess', levels: both, paths: of('windowsOptions.hostProcess'), allowed: none },
  { reason: 'procMount', levels: both, paths: ['*.securityContext.procMount'], allowed: each(undefined, 'Default') },
  {
    reason: 'seLinuxOptions',
    levels: both,
    paths: of('seLinuxOptions.type'),
    allowed: (types, pod) =>
      each(undefined, '', 'container_t', 'container_init_t', 'container_kvm_t')(types) &&
      each(undefined, '')(of('seLinuxOptions.user', 'seLinuxOptions.role').flatMap((path) => valuesAt(pod, path))),
  },
  {
    reason: 'forbidden sysctls',
    levels: both,
    paths: ['spec.securityContext.sysctls[].name'],
    allowed: each(...sysctls.split(' ')),
  },
  ...[
    { levels: ['baseline'] as const, until: Infinity },
    { levels: ['restricted'] as const, until: 22 },
  ].map((range) => ({
    ...range,
    reason: 'non-default capabilities',
    paths: ['*.securityContext.capabilities.add[]'],
    allowed: each(...defaultCapabilities.split(' ')),
  })),
  {
    reason: 'unrestricted capabilities',
    levels: ['restricted'],
    since: 22,
    paths: ['*.securityContext.capabilities.add[]'],
    allowed: (added, pod) =>
      each('NET_BIND_SERVICE')(added) &&
      valuesAt(pod, '*.securityContext.capabilities').every((value) => {
        const { drop = [] } = (value ?? {}) as { readonly drop?: readonly string[] };
        return drop.includes('ALL');
      }),
  },
  {
    reason: 'allowPrivilegeEscalation != false',
    levels: ['restricted'],
    since: 8,
    paths: ['*.securityContext.allowPrivilegeEscalation'],
    allowed: each(false),
  },
  {
    reason: 'restricted volume types',
    levels: ['restricted'],
    paths: ['spec.volumes[]'],
    allowed: (volumes) =>
      volumes.every((volume) => Object.keys(volume as object).some((key) => freeVolumes.includes(key))),
  },
  {
    reason: 'runAsNonRoot != true',
    levels: ['restricted'],
    paths: of('runAsNonRoot'),
    allowed: ([ofPod, ...others]) =>
      ofPod !== false && others.every((value) => value === true || (value === undefined && ofPod === true)),
  },
  {
    reason: 'runAsUser=0',
    levels: ['restricted'],
    since: 23,
    paths: of('runAsUser'),
    allowed: (values) => !values.includes(0),
  },
  {
    reason: 'seccompProfile',
    levels: ['baseline'],
    since: 19,
    paths: of('seccompProfile.type'),
    allowed: each(undefined, 'RuntimeDefault', 'Localhost'),
  },
  {
    reason: 'seccompProfile',
    levels: ['restricted'],
    since: 19,
    paths: of('seccompProfile.type'),
    allowed: ([ofPod, ...others]) =>
      (ofPod === undefined || runtimeProfile(ofPod)) && others.every((value) => runtimeProfile(value ?? ofPod)),
  },
];

/** The values at a path; the pod's own field comes first, and an absent list has none. */
function valuesAt(pod: Pod, path: string): Values {
  if (path.startsWith('*.'))
    return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
      valuesAt(pod, `spec.${list}[].${path.slice(2)}`),
    );
  return path.split('.').reduce<Values>(
    (values, step) =>
      values.flatMap((value) => {
        const name = step.replace('[]', '');
        const member = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
        return step.endsWith('[]') ? ((member ?? []) as Values) : [member];
      }),
    [pod],
  );
}

/** The reasons in alphabetical order. `minor`: of the version; annotations are left out. */
export function modelReasons(pod: Pod, level: Level, minor: number): string[] {
  return rules
    .filter(({ levels, since = 0, until = Infinity }) => levels.includes(level) && minor >= since && minor < until)
    .filter(
      ({ paths, allowed }) =>
        !allowed(
          paths.flatMap((path) => valuesAt(pod, path)),
          pod,
        ),
    )
    .map(({ reason }) => reason)
    .sort();
}
