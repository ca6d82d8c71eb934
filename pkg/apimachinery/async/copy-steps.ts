/** The same as `copyJson` for large values, in steps that each take some milliseconds. */
import { StepBudget } from '#apimachinery/async/step-budget.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { NumberLiteral } from '#apimachinery/number-literal.js';

type JsonObject = Record<string, unknown>;

/** Values of fewer parts are copied at once: a generator for each object takes several times as long. */
const fewParts = 500;

export function* copyJsonSteps<T>(value: T, budget: StepBudget = new StepBudget()): Steps<T> {
  if (!isPart(value)) return value;
  const room = { left: fewParts };
  const small = smallCopy(value, room);
  if (budget.spend(fewParts - room.left)) yield;
  if (small !== undefined) return small as T;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const element of value as readonly unknown[]) {
      if (budget.spend(1)) yield;
      list.push(isPart(element) ? yield* copyJsonSteps(element, budget) : element);
    }
    return list as T;
  }
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (budget.spend(1)) yield;
    const member = (value as JsonObject)[key];
    if (member === undefined) continue;
    const own = isPart(member) ? yield* copyJsonSteps(member, budget) : member;
    setOwn(copy, key, own);
  }
  return copy as T;
}

/** Undefined: there is no room for all parts. */
function smallCopy(value: object, room: { left: number }): object | undefined {
  if (Array.isArray(value)) {
    room.left -= value.length;
    if (room.left < 0) return undefined;
    const list: unknown[] = [];
    for (const element of value as readonly unknown[]) {
      const own = isPart(element) ? smallCopy(element, room) : element;
      if (own === undefined) return undefined;
      list.push(own);
    }
    return list;
  }
  const copy: JsonObject = {};
  // Without a list of the names: plain values have no others than their own.
  for (const key in value) {
    if (--room.left < 0) return undefined;
    const member = (value as JsonObject)[key];
    if (member === undefined) continue;
    const own = isPart(member) ? smallCopy(member, room) : member;
    if (own === undefined) return undefined;
    if (key === '__proto__') setOwn(copy, key, own);
    else copy[key] = own;
  }
  return copy;
}

/** Assigning to `__proto__` would set the prototype instead. */
function setOwn(object: JsonObject, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function isPart(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof NumberLiteral);
}
