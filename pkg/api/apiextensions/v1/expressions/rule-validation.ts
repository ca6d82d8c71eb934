/** Evaluates the CEL rules of a schema. Source: 1.24, …/pkg/apiserver/schema/cel/{validation,maplist}.go. */

import { type CompiledRule, compileRules } from '#api/apiextensions/v1/expressions/rules.js';
import { celValueOf } from '#api/apiextensions/v1/expressions/schema-values.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Steps } from '#apimachinery/async/steps.js';
import type { Program } from '#apimachinery/cel/program.js';
import { CelFailure } from '#apimachinery/cel/values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { Patterns } from '#apimachinery/patterns/pattern.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Limit per rule and value. */
const costLimit = 1_000_000;
/** Limit of all rules per object. */
const costBudget = 10_000_000;
/** Cost per step of some milliseconds: a unit takes up to 0.2 µs. A single rule is never interrupted. */
const stepCost = 20_000;
/** Fixed overhead of a rule in these units. */
const callCost = 20;

export interface RuleVerdict {
  readonly failures: readonly FieldFailure[];
  /** Total cost of the evaluated rules. */
  readonly cost: number;
}

/** The rules of a schema and its parts. */
export class RuleValidator {
  readonly #schema: Structural;
  readonly #isRoot: boolean;
  #rules: readonly CompiledRule[] | undefined;
  #below: ReadonlyMap<Structural, RuleValidator> | undefined;

  private constructor(schema: Structural, isRoot: boolean) {
    this.#schema = schema;
    this.#isRoot = isRoot;
  }

  /** Undefined without rules. Rules are compiled on first use. */
  static of(schema: Structural, isRoot = true): RuleValidator | undefined {
    return schema.hasValidations ? new RuleValidator(schema, isRoot) : undefined;
  }

  /** Runs in steps of a few milliseconds, or of one rule. `old`: the object before the change; undefined on create. */
  *validate(object: object, old: object | undefined, patterns: Patterns): Steps<RuleVerdict> {
    const walk: Walk = { patterns, budget: costBudget, step: stepCost, failures: [] };
    yield* this.#visit(object, old, FieldPath.ofWhole, walk);
    return { failures: walk.failures, cost: costBudget - walk.budget };
  }

  /** False if evaluation must stop. */
  *#visit(json: unknown, old: unknown, path: FieldPath, walk: Walk): Steps<boolean> {
    if (json === null || json === undefined) return true;
    if (!(yield* this.#evaluate(json, old, path, walk))) return false;
    if (Array.isArray(json)) return yield* this.#visitElements(json, old, path, walk);
    return isMembers(json) ? yield* this.#visitMembers(json, isMembers(old) ? old : {}, path, walk) : true;
  }

  *#visitElements(json: readonly unknown[], old: unknown, path: FieldPath, walk: Walk): Steps<boolean> {
    const { items } = this.#schema;
    const below = items === undefined ? undefined : this.#validatorOf(items);
    if (below === undefined) return true;
    const before = Array.isArray(old) ? predecessors(this.#schema, old) : undefined;
    for (const [i, element] of json.entries()) {
      if (!(yield* below.#visit(element, before?.(element), path.index(i), walk))) return false;
    }
    return true;
  }

  *#visitMembers(json: Members, old: Members, path: FieldPath, walk: Walk): Steps<boolean> {
    const { properties, additional } = this.#schema;
    for (const [name, value] of Object.entries(json)) {
      const property = properties.get(name);
      const schema = property ?? (typeof additional === 'object' ? additional : undefined);
      const below = schema === undefined ? undefined : this.#validatorOf(schema);
      if (below === undefined) continue;
      const at = property === undefined ? path.key(name) : path.child(name);
      const before = Object.hasOwn(old, name) ? old[name] : undefined;
      if (!(yield* below.#visit(value, before, at, walk))) return false;
    }
    return true;
  }

  #validatorOf(schema: Structural): RuleValidator | undefined {
    this.#below ??= new Map(
      this.#schema.parts.flatMap((part) => {
        const validator = RuleValidator.of(part, part.isResource);
        return validator === undefined ? [] : [[part, validator]];
      }),
    );
    return this.#below.get(schema);
  }

  *#evaluate(json: unknown, old: unknown, path: FieldPath, walk: Walk): Steps<boolean> {
    this.#rules ??= compileRules(this.#schema, this.#isRoot);
    if (this.#rules.length === 0) return true;
    const { failures } = walk;
    const fail = (text: string) => failures.push(invalidValue(path, this.#schema.type, text));
    if (walk.budget <= 0) return outOfBudget(fail);
    const self = celValueOf(json, this.#schema, this.#isRoot);
    const hasOld = old !== undefined && old !== null;
    const before = hasOld ? celValueOf(old, this.#schema, this.#isRoot) : null;
    for (const { rule, program, error, isTransition } of this.#rules) {
      if (error !== undefined) fail(`rule compile error: ${error}`);
      if (program === undefined || (isTransition && !hasOld)) continue;
      if (!judge({ rule, program, values: [self, before], fail }, walk)) return false;
      if (walk.step > 0) continue;
      walk.step = stepCost;
      yield;
    }
    return true;
  }
}

type Members = Record<string, unknown>;
type Fail = (text: string) => void;

interface Walk {
  readonly patterns: Patterns;
  budget: number;
  /** Remaining cost of the current step. */
  step: number;
  readonly failures: FieldFailure[];
}

interface Case {
  readonly rule: ValidationRule;
  readonly program: Program;
  readonly values: Parameters<Program['run']>[0];
  readonly fail: Fail;
}

function outOfBudget(fail: Fail): false {
  fail('validation failed due to running out of cost budget, no further validation rules will be run');
  return false;
}

/** False if evaluation must stop. */
function judge({ rule, program, values, fail }: Case, walk: Walk): boolean {
  const { value, cost, exceeded } = program.run(values, { costLimit, patterns: walk.patterns });
  walk.step -= cost + callCost;
  if (cost > walk.budget) return outOfBudget(fail);
  walk.budget -= cost;
  const { message = '', rule: text = '' } = rule;
  const named = message === '' ? text.trim() : message.trim();
  if (exceeded && value instanceof CelFailure) {
    const why = 'no further validation rules will be run due to call cost exceeds limit for rule';
    fail(`'${value.message}': ${why}: ${named}`);
    return false;
  }
  if (value instanceof CelFailure) {
    const unmatched = 'call arguments did not match a supported operator, function or macro signature for rule';
    const isOverload = value.message.startsWith('no such overload');
    fail(isOverload ? `'${value.message}': ${unmatched}: ${named}` : `${value.message} evaluating rule: ${named}`);
  } else if (value !== true) fail(message === '' ? `failed rule: ${named}` : message);
  return true;
}

/** Finds the old element with the same keys; undefined for lists without keys. */
function predecessors(schema: Structural, old: readonly unknown[]): ((element: unknown) => unknown) | undefined {
  const { listType, listMapKeys } = schema;
  if (listType !== 'map' || listMapKeys.length === 0) return undefined;
  const byKey = new Map<string, unknown>();
  for (const element of old) {
    const key = keyOf(element, listMapKeys);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, element);
  }
  return (element) => {
    const key = keyOf(element, listMapKeys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

/** Undefined if a key is missing or not a scalar. */
function keyOf(element: unknown, names: readonly string[]): string | undefined {
  if (!isMembers(element)) return undefined;
  const values: unknown[] = [];
  for (const name of names) {
    const value = element[name];
    if (value === undefined || value === null || typeof value === 'object') return undefined;
    values.push(value);
  }
  return JSON.stringify(values);
}
