/** Refuses required anti-affinity over more than a node: one pod could keep all others off a whole zone. */
import type { Dialect } from '#apimachinery/dialect.js';
import { forbidden } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { newPod, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';

export class LimitPodHardAntiAffinityTopology implements AdmissionPlugin {
  readonly name = 'LimitPodHardAntiAffinityTopology';
  readonly resources = podsOnly;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return writesPod(attributes);
  }

  validate(attributes: AdmissionAttributes): void {
    const { hostname } = this.#dialect.labels;
    const { metadata, spec } = newPod(attributes);
    const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const wide = terms.find(({ topologyKey }) => topologyKey !== hostname);
    if (wide === undefined) return;
    const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey} but only key ${hostname} is allowed`;
    throw forbidden({ group: '', resource: 'pods' }, metadata.name ?? '', why);
  }
}
