/** Pods for tests of the Pod Security Standards. */
import type { Container, Pod, PodSecurityContext, PodSpec, SecurityContext } from '#api/core/v1/types.gen.js';

/** How a pod differs from one that keeps all rules. */
export interface PodChange {
  readonly spec?: Partial<PodSpec>;
  readonly pod?: PodSecurityContext;
  /** Of the only container. */
  readonly container?: SecurityContext;
  readonly ports?: Container['ports'];
  /** Adds an initialization container and an ephemeral one with the same settings as the container. */
  readonly everywhere?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

const podContext: PodSecurityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
const containerContext: SecurityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/** A pod that keeps all rules of level `restricted`, except for the change. */
export function changedPod({ spec, pod, container, ports = [], everywhere, annotations }: PodChange = {}): Pod {
  const named = (name: string): Container => ({
    name,
    image: 'i',
    securityContext: { ...containerContext, ...container },
    ...(ports.length > 0 && { ports }),
  });
  return {
    metadata: { name: 'p', namespace: 'ns', ...(annotations && { annotations }) },
    spec: {
      securityContext: { ...podContext, ...pod },
      containers: [named('c')],
      ...(everywhere === true && { initContainers: [named('i')], ephemeralContainers: [named('e')] }),
      ...spec,
    },
  };
}
