/**
 * Gives the pods of a namespace its default tolerations and refuses those that it does not allow. Namespaces say both in
 * annotations; the configuration has the cluster's tolerations for all others.
 */
import { computeQosClass } from '#api/core/v1/pod/resources.js';
import type { Namespace, Toleration } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { notFound, unclassified } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { ReadingPlugin, type ReadingPluginOptions } from '#apiserver/admission/plugin.js';
import { draftPod, newPod, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';
import { tolerationsIn } from '#apiserver/admission/pod-tolerations/annotation.js';
import type { ClusterTolerations } from '#apiserver/admission/pod-tolerations/configuration.js';
import { areAllowed, mergeTolerations } from '#apiserver/admission/pod-tolerations/merge.js';

export interface PodTolerationsOptions extends ReadingPluginOptions {
  readonly cluster: ClusterTolerations;
}

/** Limit of comparisons for a pod: they would hold up other requests. */
const maxComparisons = 250_000;

export class PodTolerationRestriction extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'PodTolerationRestriction';
  readonly resources = podsOnly;
  readonly #cluster: ClusterTolerations;

  constructor(options: PodTolerationsOptions) {
    super(options);
    this.#cluster = options.cluster;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return writesPod(attributes);
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    return andThen(this.#namespace(attributes.namespace), (namespace) => {
      const { spec } = draftPod(attributes);
      const own = spec.tolerations ?? [];
      const added = attributes.operation === 'CREATE' ? this.#added(namespace) : [];
      const { memoryPressure: key } = this.dialect.taints;
      const pressure: Toleration = { key, operator: 'Exists', effect: 'NoSchedule' };
      // Nodes under memory pressure still take pods that have reserved some of it.
      const all = computeQosClass(spec) === 'BestEffort' ? added : [...added, pressure];
      if (all.length > 0) {
        this.#requireFew(attributes, own.length + all.length, own.length + all.length);
        // Copies: the configuration's tolerations are those of every pod.
        spec.tolerations = mergeTolerations(own, all).map((toleration) => ({ ...toleration }));
      }
      this.#check(attributes, namespace);
    });
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.#namespace(attributes.namespace), (namespace) => this.#check(attributes, namespace));
  }

  #added({ metadata: { annotations } }: Namespace): readonly Toleration[] {
    const own = annotations?.[this.dialect.annotations.defaultTolerations];
    return own === undefined ? this.#cluster.added : tolerationsIn(own);
  }

  /** Like 1.24, answers 500 for tolerations that are not allowed. */
  #check(attributes: AdmissionAttributes, { metadata: { annotations } }: Namespace): void {
    const { tolerations = [] } = newPod(attributes).spec;
    if (tolerations.length === 0) return;
    const own = annotations?.[this.dialect.annotations.tolerationsWhitelist];
    const allowed = own === undefined ? this.#cluster.allowed : tolerationsIn(own);
    this.#requireFew(attributes, tolerations.length, allowed.length);
    if (areAllowed(tolerations, allowed)) return;
    const list = own === undefined ? 'cluster' : 'namespace';
    throw unclassified(
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${list} whitelist`,
    );
  }

  #requireFew(attributes: AdmissionAttributes, one: number, other: number): void {
    if (one * other <= maxComparisons) return;
    throw this.refusal(attributes, `too many tolerations to compare: ${one} with ${other}`);
  }

  /** Throws 404. */
  #namespace(name: string): MaybePromise<Namespace> {
    return andThen(this.namespaceOf(name), (namespace) => required(namespace, name));
  }
}

function required(namespace: Namespace | undefined, name: string): Namespace {
  if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
  return namespace;
}
