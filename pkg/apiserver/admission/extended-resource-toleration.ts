/** Lets pods that request an extended resource tolerate the taint of the same name, which keeps other pods off its nodes. */
import { isExtendedResource } from '#api/core/v1/resources/names.js';
import type { Pod, Toleration } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { draftPod, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';

export class ExtendedResourceToleration implements AdmissionPlugin {
  readonly name = 'ExtendedResourceToleration';
  readonly resources = podsOnly;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return writesPod(attributes);
  }

  admit(attributes: MutableAttributes): void {
    const { spec } = draftPod(attributes);
    for (const key of extendedResources(spec, this.#dialect)) {
      const tolerations = spec.tolerations ?? [];
      const added = { key, operator: 'Exists', effect: 'NoSchedule' };
      spec.tolerations = tolerations.some((toleration) => isLike(toleration, key))
        ? tolerations.map((toleration) => (isLike(toleration, key) ? added : toleration))
        : [...tolerations, added];
    }
  }
}

/** Names of the extended resources that containers request, sorted. */
function extendedResources({ containers, initContainers = [] }: Pod['spec'], dialect: Dialect): readonly string[] {
  const names = [...(containers ?? []), ...initContainers].flatMap(({ resources }) =>
    Object.keys(resources?.requests ?? {}),
  );
  return [...new Set(names)].filter((name) => isExtendedResource(name, dialect)).sort();
}

function isLike({ key, operator, effect, value = '' }: Toleration, resource: string): boolean {
  return key === resource && operator === 'Exists' && effect === 'NoSchedule' && value === '';
}
