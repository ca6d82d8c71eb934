/** AppArmor profiles of containers, from their pod's annotations. */
import { appArmorPrefix } from '#api/core/v1/pod/parts/annotations.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

const unconfined = 'unconfined';

/** `runtime/default`, `localhost/<profile>`, `unconfined`; undefined without a profile. */
export function appArmorProfile({ metadata }: Pod, container: string, dialect: Dialect): string | undefined {
  const profile = metadata.annotations?.[`${appArmorPrefix(dialect)}${container}`];
  return profile === '' ? undefined : profile;
}

/** Why the pod's AppArmor profiles cannot be enforced; undefined if they can. */
export function unenforceable(pod: Pod, dialect: Dialect, host: { readonly appArmor: boolean }): string | undefined {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const profiles = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) =>
    appArmorProfile(pod, name, dialect),
  );
  if (profiles.every((profile) => profile === undefined || profile === unconfined)) return undefined;
  return host.appArmor ? undefined : 'Cannot enforce AppArmor: AppArmor is not enabled on the host';
}
