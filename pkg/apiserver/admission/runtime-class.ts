/** Applies a pod's RuntimeClass: its overhead, and where its nodes are. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import type { RuntimeClass } from '#api/node/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/shown.js';
import { unclassified } from '#apimachinery/errors/status.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/refusal.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface RuntimeClassOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

export class RuntimeClassAdmission implements AdmissionPlugin {
  readonly name = 'RuntimeClass';
  readonly resources = [{ group: 'core', resource: 'pods' }] as const;
  readonly #options: RuntimeClassOptions;

  constructor(options: RuntimeClassOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'pods');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    return andThen(this.#classOf(attributes), (found) => this.#apply(attributes, found));
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.#classOf(attributes), (found) => this.#check(attributes, found));
  }

  #apply(attributes: MutableAttributes, found: RuntimeClass | undefined): void {
    if (found === undefined) return;
    const { spec } = attributes.object as Draft<Pod>;
    const { overhead, scheduling } = found;
    if (overhead?.podFixed !== undefined) {
      if (spec.overhead !== undefined && !sameAmounts(spec.overhead, overhead.podFixed))
        throw refusal(
          attributes,
          this.#options.dialect,
          "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        );
      spec.overhead = { ...overhead.podFixed };
    }
    for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
      const given = spec.nodeSelector?.[key];
      if (given !== undefined && given !== value)
        throw refusal(
          attributes,
          this.#options.dialect,
          `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${given}`,
        );
      spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
    }
    const tolerations = scheduling?.tolerations ?? [];
    if (tolerations.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...tolerations];
  }

  #check(attributes: AdmissionAttributes, found: RuntimeClass | undefined): void {
    const { spec } = attributes.object as Draft<Pod>;
    const overhead = found?.overhead?.podFixed;
    if (spec.overhead === undefined) return;
    if (overhead === undefined)
      throw refusal(
        attributes,
        this.#options.dialect,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
  }

  /** Hardly any pod names one. */
  #classOf(attributes: AdmissionAttributes): MaybePromise<RuntimeClass | undefined> {
    const name = (attributes.object as Draft<Pod>).spec.runtimeClassName;
    return name === undefined ? undefined : this.#named(attributes, name);
  }

  async #named(attributes: AdmissionAttributes, name: string): Promise<RuntimeClass> {
    const { reader, dialect } = this.#options;
    // 1.24's client asks for no such name, and its error is no Status.
    if (name === '') throw unclassified('resource name may not be empty');
    const wrong = pathSegmentErrors(name);
    if (wrong.length > 0) throw unclassified(`invalid resource name ${quoted(name)}: [${wrong.join(' ')}]`);
    const found =
      (await reader.get(runtimeclasses, '', name)) ?? (await reader.get(runtimeclasses, '', name, 'latest'));
    if (found !== undefined) return found;
    throw refusal(attributes, dialect, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  }
}

function sameAmounts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
