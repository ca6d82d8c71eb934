/** Pods of the class Guaranteed, for tests of the managers. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';

/** Containers `c0`, `c1`, … and `i0`, `i1`, … with so many CPUs each, and 1Gi of memory unless `memory` says otherwise. */
export function guaranteedPod(
  uid: string,
  cpus: readonly string[],
  initCPUs: readonly string[] = [],
  memory: (container: string) => Readonly<Record<string, string>> = () => ({ memory: '1Gi' }),
): Pod {
  const container =
    (prefix: string) =>
    (cpu: string, i: number): Container => {
      const name = `${prefix}${i}`;
      const amounts = { cpu, ...memory(name) };
      return { name, image: 'app', resources: { requests: amounts, limits: amounts } };
    };
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: cpus.map(container('c')), initContainers: initCPUs.map(container('i')) },
  };
}
