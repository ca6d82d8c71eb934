/** Resolves a pod's priority class to a number, and validates priority classes. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import type { PriorityClass } from '#api/scheduling/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin } from '#apiserver/admission/plugin.js';
import { systemPriorityClasses } from '#apiserver/bootstrap/priority-classes.js';

interface Priority {
  readonly name: string;
  readonly value: number;
  readonly preemptionPolicy: string;
}

const noClass: Priority = { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' };

export class PodPriority extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'Priority';
  readonly resources = [
    { group: 'core', resource: 'pods' },
    { group: 'scheduling', resource: 'priorityclasses' },
  ] as const;

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    if (concerns(attributes, 'core', 'pods')) return operation === 'CREATE' || operation === 'UPDATE';
    return concerns(attributes, 'scheduling', 'priorityclasses') && (operation === 'CREATE' || operation === 'UPDATE');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    if (!concerns(attributes, 'core', 'pods')) return;
    const { spec } = attributes.object as Draft<Pod>;
    if (attributes.operation === 'UPDATE') {
      // Clients without support for priorities omit them; an update cannot change them anyway.
      const old = (attributes.oldObject as Pod).spec;
      if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
      if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined)
        spec.preemptionPolicy = old.preemptionPolicy;
      return;
    }
    const pending = this.#priorityOf(attributes, spec.priorityClassName ?? '');
    return andThen(pending, (priority) => this.#set(attributes, priority));
  }

  #set(attributes: MutableAttributes, priority: Priority): void {
    const { spec } = attributes.object as Draft<Pod>;
    if (priority.name !== '') spec.priorityClassName = priority.name;
    this.#accept(attributes, spec.priority, priority.value, 'integer value of priority');
    this.#accept(attributes, spec.preemptionPolicy, priority.preemptionPolicy, 'string value of PreemptionPolicy');
    spec.priority = priority.value;
    spec.preemptionPolicy = priority.preemptionPolicy;
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    if (!concerns(attributes, 'scheduling', 'priorityclasses')) return;
    const priorityClass = attributes.object as PriorityClass;
    if (priorityClass.globalDefault !== true) return;
    return andThen(this.reader.list(priorityclasses), (others) => this.#only(attributes, others));
  }

  /** Refuses a second default class. */
  #only(attributes: AdmissionAttributes, others: readonly PriorityClass[]): void {
    const priorityClass = attributes.object as PriorityClass;
    const other = others.find((one) => one.globalDefault === true && one.metadata.name !== priorityClass.metadata.name);
    if (other === undefined) return;
    const why = `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`;
    throw this.refusal(attributes, why);
  }

  /** Requires the client's value, if any, to equal the class's. */
  #accept<V extends string | number>(
    attributes: AdmissionAttributes,
    requested: V | undefined,
    computed: V,
    what: string,
  ): void {
    if (requested === undefined || requested === computed) return;
    const why = `the ${what} (${requested}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;
    throw this.refusal(attributes, why);
  }

  #priorityOf(attributes: AdmissionAttributes, name: string): MaybePromise<Priority> {
    return name === ''
      ? andThen(this.reader.list(priorityclasses), defaultPriority)
      : this.#namedPriority(attributes, name);
  }

  async #namedPriority(attributes: AdmissionAttributes, name: string): Promise<Priority> {
    const { reader } = this;
    const priorityClass =
      systemPriorityClasses.find((own) => own.metadata.name === name) ??
      (await reader.get(priorityclasses, '', name)) ??
      (await reader.get(priorityclasses, '', name, 'latest'));
    if (priorityClass === undefined) throw this.refusal(attributes, `no PriorityClass with name ${name} was found`);
    return priorityOf(priorityClass);
  }
}

/** The priority of pods without a class: the default class's, or the lowest of several. */
function defaultPriority(classes: readonly PriorityClass[]): Priority {
  let least: PriorityClass | undefined;
  for (const priorityClass of classes) {
    if (priorityClass.globalDefault === true && (least === undefined || priorityClass.value < least.value))
      least = priorityClass;
  }
  return least === undefined ? noClass : priorityOf(least);
}

function priorityOf(priorityClass: PriorityClass): Priority {
  return {
    name: priorityClass.metadata.name ?? '',
    value: priorityClass.value,
    preemptionPolicy: priorityClass.preemptionPolicy ?? noClass.preemptionPolicy,
  };
}
