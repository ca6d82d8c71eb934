/**
 * Sets defaults of a schema for absent members. A null that is not allowed counts as absent. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go. Unlike there, defaults
 * may add a limited number of bytes to an object: a definition that changes later must not multiply what is stored.
 */

import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import { allSteps, StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { oncePer } from '#apimachinery/memo/once-per.js';

/** As much as the store accepts per object: what grows further could not be written back. */
export const maxDefaultBytes = 1536 * 1024;

/** Thrown before the defaults of an object exceed `maxDefaultBytes`. */
export class DefaultsTooLarge extends Error {
  constructor() {
    super(`defaults add more than ${maxDefaultBytes} bytes`);
  }
}

/** Bytes around a member in JSON: quotes, colon and comma. */
const memberBytes = 4;

interface Place {
  readonly value: object;
  readonly schema: Structural;
}

/** Modifies the value in place. `nulls`: leaves invalid nulls to validation instead of dropping them. Throws DefaultsTooLarge. */
export function fillCustomDefaults(value: unknown, schema: Structural, nulls?: 'keep nulls'): void {
  allSteps(customDefaultSteps(value, schema, nulls));
}

/** `fillCustomDefaults` in steps of a few milliseconds each. */
export function* customDefaultSteps(value: unknown, schema: Structural, nulls?: 'keep nulls'): Steps<void> {
  const filling = new Filling(nulls);
  filling.enter(value, schema);
  yield* filling.run();
}

class Filling {
  readonly #nulls: 'keep nulls' | undefined;
  readonly #budget = new StepBudget();
  /** Objects and lists that are not filled yet. */
  readonly #open: Place[] = [];
  #added = 0;

  constructor(nulls: 'keep nulls' | undefined) {
    this.#nulls = nulls;
  }

  enter(value: unknown, schema: Structural): void {
    if (typeof value === 'object' && value !== null) this.#open.push({ value, schema });
  }

  *run(): Steps<void> {
    for (let place = this.#open.pop(); place !== undefined; place = this.#open.pop()) {
      const { value, schema } = place;
      if (Array.isArray(value)) yield* this.#elements(value, schema);
      else if (isMembers(value)) yield* this.#members(value, schema);
    }
  }

  *#elements(list: unknown[], { items }: Structural): Steps<void> {
    if (items === undefined) return;
    for (let i = 0; i < list.length; i++) {
      if (this.#budget.spend(1)) yield;
      if (isUnwantedNull(list[i], items) && items.default !== undefined) list[i] = yield* this.#copy('', items);
      this.enter(list[i], items);
    }
  }

  *#members(members: Record<string, unknown>, schema: Structural): Steps<void> {
    for (const [name, property] of schema.defaulted) {
      if (this.#budget.spend(1)) yield;
      if (!Object.hasOwn(members, name)) setMember(members, name, yield* this.#copy(name, property));
    }
    for (const name of Object.keys(members)) {
      if (this.#budget.spend(1)) yield;
      const property = schema.member(name);
      if (!(property instanceof Structural)) continue;
      if (isUnwantedNull(members[name], property)) {
        if (property.default === undefined) {
          if (this.#nulls === undefined) delete members[name];
          continue;
        }
        setMember(members, name, yield* this.#copy(name, property));
      }
      this.enter(members[name], property);
    }
  }

  /** The default for a member of that name; empty for an element. */
  *#copy(name: string, { default: value, defaultBytes }: Structural): Steps<unknown> {
    this.#added += bytesOfMember(name, defaultBytes);
    if (this.#added > maxDefaultBytes) throw new DefaultsTooLarge();
    return yield* copyJsonSteps(value, this.#budget);
  }
}

function bytesOfMember(name: string, valueBytes: number): number {
  return name.length + memberBytes + valueBytes;
}

/** What setting defaults would do to an object. */
export interface MissingDefaults {
  /** There is a default to set or a null to drop. */
  readonly any: boolean;
  /** Bytes that defaults would add; counted until they exceed `maxDefaultBytes`. */
  readonly bytes: number;
}

/** Measures without changing or copying anything. */
export function missingDefaults(value: unknown, schema: Structural): MissingDefaults {
  const measure = new Measure();
  measure.within(value, schema);
  return measure;
}

class Measure implements MissingDefaults {
  any = false;
  bytes = 0;

  within(value: unknown, schema: Structural): void {
    if (this.bytes > maxDefaultBytes) return;
    if (Array.isArray(value)) {
      const { items } = schema;
      if (items === undefined) return;
      for (const element of value) {
        if (isUnwantedNull(element, items) && items.default !== undefined) this.#add('', items);
        else this.within(element, items);
      }
    } else if (isMembers(value)) this.#members(value, schema);
  }

  #members(members: Readonly<Record<string, unknown>>, schema: Structural): void {
    for (const [name, property] of schema.defaulted) if (!Object.hasOwn(members, name)) this.#add(name, property);
    for (const name in members) {
      const property = schema.member(name);
      if (!(property instanceof Structural)) continue;
      if (!isUnwantedNull(members[name], property)) this.within(members[name], property);
      else if (property.default === undefined) this.any = true;
      else this.#add(name, property);
    }
  }

  #add(name: string, schema: Structural): void {
    this.any = true;
    this.bytes += bytesOfMember(name, schema.defaultBytes) + addedWithinDefault(schema);
  }
}

/** What defaults add within the default of a schema. */
const addedWithinDefault = oncePer((schema: Structural): number => missingDefaults(schema.default, schema).bytes);

function isUnwantedNull(value: unknown, schema: Structural): boolean {
  return value === null && !schema.nullable;
}
