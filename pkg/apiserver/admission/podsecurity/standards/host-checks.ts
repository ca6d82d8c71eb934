/** Checks of level `baseline` on the parts of the host that a pod may reach. */
import {
  type Check,
  containersNamed,
  joined,
  namesOf,
  numbered,
  settersNamed,
  sortedUnique,
} from '#apiserver/admission/podsecurity/standards/check.js';

export const hostNamespaces: Check = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((namespace) => spec[namespace] === true);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((namespace) => `${namespace}=true`).join(', ') };
};

export const hostPathVolumes: Check = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${numbered('volume', 'volumes', names.length)} ${joined(names)}` };
};

export const hostPorts: Check = (pod) => {
  const names = namesOf(pod, (_, { ports = [] }) => ports.some(({ hostPort = 0 }) => hostPort !== 0));
  if (names.length === 0) return undefined;
  const ports = sortedUnique(
    pod.containers.flatMap(({ ports: all = [] }) =>
      all.flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [String(hostPort)])),
    ),
  );
  const [use, what] = [numbered('uses', 'use', names.length), numbered('hostPort', 'hostPorts', ports.length)];
  return { reason: 'hostPort', detail: `${containersNamed(names)} ${use} ${what} ${ports.join(', ')}` };
};

export const privileged: Check = (pod) => {
  const names = namesOf(pod, (context) => context.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containersNamed(names)} must not set securityContext.privileged=true` };
};

export const windowsHostProcess: Check = (pod) => {
  const names = namesOf(pod, ({ windowsOptions }) => windowsOptions?.hostProcess === true);
  const setters = settersNamed(pod.spec.securityContext?.windowsOptions?.hostProcess === true, names);
  if (setters === '') return undefined;
  return { reason: 'hostProcess', detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
};
