/** Applies a pod's RuntimeClass: its overhead, node selector and tolerations. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import type { RuntimeClass } from '#api/node/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { unclassified } from '#apimachinery/errors/status.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin } from '#apiserver/admission/plugin.js';

export class RuntimeClassAdmission extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'RuntimeClass';
  readonly resources = [{ group: 'core', resource: 'pods' }] as const;

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'pods');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    return andThen(this.#classOf(attributes), (runtimeClass) => this.#apply(attributes, runtimeClass));
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.#classOf(attributes), (runtimeClass) => this.#check(attributes, runtimeClass));
  }

  #apply(attributes: MutableAttributes, runtimeClass: RuntimeClass | undefined): void {
    if (runtimeClass === undefined) return;
    const { spec } = attributes.object as Draft<Pod>;
    const { overhead, scheduling } = runtimeClass;
    if (overhead?.podFixed !== undefined) {
      if (spec.overhead !== undefined && !sameAmounts(spec.overhead, overhead.podFixed))
        throw this.refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
      spec.overhead = { ...overhead.podFixed };
    }
    for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
      const requested = spec.nodeSelector?.[key];
      if (requested !== undefined && requested !== value)
        throw this.refusal(
          attributes,
          `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${requested}`,
        );
      spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
    }
    const tolerations = scheduling?.tolerations ?? [];
    if (tolerations.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...tolerations];
  }

  #check(attributes: AdmissionAttributes, runtimeClass: RuntimeClass | undefined): void {
    const { spec } = attributes.object as Draft<Pod>;
    const overhead = runtimeClass?.overhead?.podFixed;
    if (spec.overhead === undefined) return;
    if (overhead === undefined)
      throw this.refusal(
        attributes,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
  }

  /** Returns without waiting for most pods, which name no class. */
  #classOf(attributes: AdmissionAttributes): MaybePromise<RuntimeClass | undefined> {
    const name = (attributes.object as Draft<Pod>).spec.runtimeClassName;
    return name === undefined ? undefined : this.#named(attributes, name);
  }

  async #named(attributes: AdmissionAttributes, name: string): Promise<RuntimeClass> {
    const { reader } = this;
    // 1.24's client refuses such names with an error that is not a Status.
    if (name === '') throw unclassified('resource name may not be empty');
    const wrong = pathSegmentErrors(name);
    if (wrong.length > 0) throw unclassified(`invalid resource name ${quoted(name)}: [${wrong.join(' ')}]`);
    const runtimeClass =
      (await reader.get(runtimeclasses, '', name)) ?? (await reader.get(runtimeclasses, '', name, 'latest'));
    if (runtimeClass !== undefined) return runtimeClass;
    throw this.refusal(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  }
}

function sameAmounts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
