/** Chains of selections. Source: github.com/google/cel-go v0.10, interpreter/attributes.go. */
import type { Run } from '#apimachinery/cel/run.js';
import { CelFailure, CelList, CelMap, noSuchOverload, Uint, type Value } from '#apimachinery/cel/values.js';

export type Evaluate = (run: Run) => Value;
export type Qualify = (run: Run, of: Value) => Value;

/** A value with selections applied to it. */
export class Attribute {
  readonly #base: Evaluate;
  readonly #qualifiers: Qualify[] = [];

  constructor(base: Evaluate) {
    this.#base = base;
  }

  add(qualifier: Qualify): void {
    this.#qualifiers.push(qualifier);
  }

  /** Evaluates the chain; this itself costs nothing. */
  resolve(run: Run): Value {
    let value = this.#base(run);
    for (const qualify of this.#qualifiers) {
      if (value instanceof CelFailure) return value;
      value = qualify(run, value);
    }
    return value;
  }
}

/** A ternary with selections applied to both branches. */
export class Conditional {
  readonly #condition: Evaluate;
  readonly #yes: Attribute | Conditional;
  readonly #no: Attribute | Conditional;

  constructor(condition: Evaluate, yes: Attribute | Conditional, no: Attribute | Conditional) {
    this.#condition = condition;
    this.#yes = yes;
    this.#no = no;
  }

  add(qualifier: Qualify): void {
    this.#yes.add(qualifier);
    this.#no.add(qualifier);
  }

  resolve(run: Run): Value {
    const chosen = this.#condition(run);
    if (chosen === true) return this.#yes.resolve(run);
    if (chosen === false) return this.#no.resolve(run);
    return chosen instanceof CelFailure ? chosen : noSuchOverload();
  }
}

/** The value at an index or key. */
export function selected(of: Value, index: Value): Value {
  if (index instanceof CelFailure) return index;
  if (of instanceof CelMap) {
    const value = of.find(index);
    return value === undefined ? new CelFailure(`no such key: ${shown(index)}`) : value;
  }
  if (!(of instanceof CelList)) return of instanceof CelFailure ? of : noSuchOverload();
  return of.get(index);
}

function shown(index: Value): string {
  return index instanceof Uint ? String(index.value) : String(index);
}
