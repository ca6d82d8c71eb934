/** Checks of level `baseline` on what the kernel grants the processes of a pod. */
import { appArmorPrefix } from '#api/core/v1/pod/parts/annotations.js';
import { localhostPrefix, runtimeDefaultProfile } from '#api/core/v1/pod/parts/seccomp.js';
import type { SELinuxOptions } from '#api/core/v1/types.gen.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import {
  type Check,
  containersNamed,
  joined,
  namesOf,
  numbered,
  settersNamed,
  sortedUnique,
} from '#apiserver/admission/podsecurity/standards/check.js';

export const appArmorProfile: Check = ({ annotations, dialect }) => {
  const prefix = appArmorPrefix(dialect);
  const allowed = (profile: string) =>
    profile === '' || profile === runtimeDefaultProfile || profile.startsWith(localhostPrefix);
  const values = Object.entries(annotations)
    .filter(([key, profile]) => key.startsWith(prefix) && !allowed(profile))
    .map(([key, profile]) => `${key}=${quoted(profile)}`);
  if (values.length === 0) return undefined;
  const reason = numbered('forbidden AppArmor profile', 'forbidden AppArmor profiles', values.length);
  return { reason, detail: sortedUnique(values).join(', ') };
};

/** The capabilities that runtimes grant by default, except NET_RAW. */
const defaultCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

export const defaultCapabilitiesOnly: Check = (pod) => {
  const others: string[] = [];
  const names = namesOf(pod, ({ capabilities }) => {
    const more = (capabilities?.add ?? []).filter((capability) => !defaultCapabilities.has(capability));
    others.push(...more);
    return more.length > 0;
  });
  if (names.length === 0) return undefined;
  const added = joined(sortedUnique(others));
  return {
    reason: 'non-default capabilities',
    detail: `${containersNamed(names)} must not include ${added} in securityContext.capabilities.add`,
  };
};

export const procMount: Check = (pod) => {
  const types: string[] = [];
  const names = namesOf(pod, ({ procMount: type = 'Default' }) => {
    if (type === 'Default') return false;
    types.push(type);
    return true;
  });
  if (names.length === 0) return undefined;
  const values = joined(sortedUnique(types));
  return {
    reason: 'procMount',
    detail: `${containersNamed(names)} must not set securityContext.procMount to ${values}`,
  };
};

const seLinuxTypes: ReadonlySet<string> = new Set(['', 'container_t', 'container_init_t', 'container_kvm_t']);

export const seLinuxOptions: Check = (pod) => {
  const types: string[] = [];
  let [userSet, roleSet] = [false, false];
  const violates = (options: SELinuxOptions | undefined): boolean => {
    const { type = '', user = '', role = '' } = options ?? {};
    if (!seLinuxTypes.has(type)) types.push(type);
    userSet ||= user !== '';
    roleSet ||= role !== '';
    return !seLinuxTypes.has(type) || user !== '' || role !== '';
  };
  const podItself = violates(pod.spec.securityContext?.seLinuxOptions);
  const setters = settersNamed(
    podItself,
    namesOf(pod, (context) => violates(context.seLinuxOptions)),
  );
  if (setters === '') return undefined;
  const shown = sortedUnique(types);
  // 1.24 names the user and the role only beside a type.
  const values =
    shown.length === 0
      ? []
      : [
          `${numbered('type', 'types', shown.length)} ${joined(shown)}`,
          ...(userSet ? ['user may not be set'] : []),
          ...(roleSet ? ['role may not be set'] : []),
        ];
  return {
    reason: 'seLinuxOptions',
    detail: `${setters} set forbidden securityContext.seLinuxOptions: ${values.join('; ')}`,
  };
};

const safeSysctls: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]);

export const sysctls: Check = ({ spec }) => {
  const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !safeSysctls.has(name));
  return names.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: names.join(', ') };
};
