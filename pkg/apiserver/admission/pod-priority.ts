/** Turns a pod's priority class into a number, and keeps priority classes sound. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import type { PriorityClass } from '#api/scheduling/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/refusal.js';
import { systemPriorityClasses } from '#apiserver/bootstrap/priority-classes.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface PriorityOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

interface Priority {
  readonly name: string;
  readonly value: number;
  readonly preemptionPolicy: string;
}

const noClass: Priority = { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' };

export class PodPriority implements AdmissionPlugin {
  readonly name = 'Priority';
  readonly resources = [
    { group: 'core', resource: 'pods' },
    { group: 'scheduling', resource: 'priorityclasses' },
  ] as const;
  readonly #options: PriorityOptions;

  constructor(options: PriorityOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    if (concerns(attributes, 'core', 'pods')) return operation === 'CREATE' || operation === 'UPDATE';
    return concerns(attributes, 'scheduling', 'priorityclasses') && (operation === 'CREATE' || operation === 'UPDATE');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    if (!concerns(attributes, 'core', 'pods')) return;
    const { spec } = attributes.object as Draft<Pod>;
    if (attributes.operation === 'UPDATE') {
      // A client that does not know of priorities leaves them out; they cannot change anyway.
      const old = (attributes.oldObject as Pod).spec;
      if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
      if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined)
        spec.preemptionPolicy = old.preemptionPolicy;
      return;
    }
    const found = this.#priorityOf(attributes, spec.priorityClassName ?? '');
    return andThen(found, (priority) => this.#set(attributes, priority));
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
    const wanted = attributes.object as PriorityClass;
    if (wanted.globalDefault !== true) return;
    return andThen(this.#options.reader.list(priorityclasses), (others) => this.#only(attributes, others));
  }

  /** There is one default at most. */
  #only(attributes: AdmissionAttributes, others: readonly PriorityClass[]): void {
    const wanted = attributes.object as PriorityClass;
    const other = others.find((found) => found.globalDefault === true && found.metadata.name !== wanted.metadata.name);
    if (other === undefined) return;
    const why = `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`;
    throw refusal(attributes, this.#options.dialect, why);
  }

  /** What the client gave must be what the class says. */
  #accept<V extends string | number>(
    attributes: AdmissionAttributes,
    given: V | undefined,
    computed: V,
    what: string,
  ): void {
    if (given === undefined || given === computed) return;
    const why = `the ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;
    throw refusal(attributes, this.#options.dialect, why);
  }

  #priorityOf(attributes: AdmissionAttributes, name: string): MaybePromise<Priority> {
    return name === ''
      ? andThen(this.#options.reader.list(priorityclasses), defaultPriority)
      : this.#namedPriority(attributes, name);
  }

  async #namedPriority(attributes: AdmissionAttributes, name: string): Promise<Priority> {
    const { reader, dialect } = this.#options;
    const found =
      systemPriorityClasses.find((own) => own.metadata.name === name) ??
      (await reader.get(priorityclasses, '', name)) ??
      (await reader.get(priorityclasses, '', name, 'latest'));
    if (found === undefined) throw refusal(attributes, dialect, `no PriorityClass with name ${name} was found`);
    return priorityOf(found);
  }
}

/** Of pods that name none: the default class's, the least of several. */
function defaultPriority(classes: readonly PriorityClass[]): Priority {
  let least: PriorityClass | undefined;
  for (const found of classes) {
    if (found.globalDefault === true && (least === undefined || found.value < least.value)) least = found;
  }
  return least === undefined ? noClass : priorityOf(least);
}

function priorityOf(found: PriorityClass): Priority {
  return {
    name: found.metadata.name ?? '',
    value: found.value,
    preemptionPolicy: found.preemptionPolicy ?? noClass.preemptionPolicy,
  };
}
