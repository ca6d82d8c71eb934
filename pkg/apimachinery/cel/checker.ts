/** Type-checks an expression. Source: github.com/google/cel-go v0.10, checker/{checker,errors}.go. */
import { accumulator, type Call, type Expr, type Fold, type Select } from '#apimachinery/cel/ast.js';
import { functions, type Overload, typeNames } from '#apimachinery/cel/declarations.js';
import { qualifiedName } from '#apimachinery/cel/parser.js';
import { CelError } from '#apimachinery/cel/tokens.js';
import {
  Bindings,
  type CelType,
  format,
  isDynOrError,
  listOf,
  mapOf,
  maxTypeSize,
  mostGeneral,
  param,
  protoText,
  same,
  types,
} from '#apimachinery/cel/types.js';

export interface CheckedExpression {
  readonly expr: Expr;
  readonly type: CelType;
  /** Types of all parts. */
  readonly types: ReadonlyMap<Expr, CelType>;
  /** Ids of the possible overloads of each call. */
  readonly overloads: ReadonlyMap<Expr, readonly string[]>;
  /** Used variables of the environment. */
  readonly variables: ReadonlySet<string>;
  /** Selections that are type names. */
  readonly named: ReadonlyMap<Expr, string>;
  /** Errors in the order of the text; if there are any, the other results are meaningless. */
  readonly errors: readonly CelError[];
}

export function checkExpression(expr: Expr, variables: ReadonlyMap<string, CelType>): CheckedExpression {
  const checker = new Checker(variables);
  checker.check(expr);
  return checker.result(expr);
}

class Checker {
  readonly #variables: ReadonlyMap<string, CelType>;
  readonly #types = new Map<Expr, CelType>();
  readonly #overloads = new Map<Expr, readonly string[]>();
  readonly #named = new Map<Expr, string>();
  readonly #used = new Set<string>();
  readonly #errors: CelError[] = [];
  readonly #bindings = new Bindings();
  /** Variables of enclosing folds, innermost last. */
  readonly #scopes: (readonly [name: string, type: CelType])[] = [];
  #params = 0;

  constructor(variables: ReadonlyMap<string, CelType>) {
    this.#variables = variables;
  }

  result(expr: Expr): CheckedExpression {
    const resolvedTypes = new Map<Expr, CelType>();
    const typeParams = new Map<string, CelType>();
    for (const [part, type] of this.#types)
      resolvedTypes.set(part, this.#bindings.resolve(type, types.dyn, typeParams));
    return {
      expr,
      type: resolvedTypes.get(expr) ?? types.error,
      types: resolvedTypes,
      overloads: this.#overloads,
      variables: this.#used,
      named: this.#named,
      errors: [...this.#errors].sort((a, b) => a.offset - b.offset),
    };
  }

  #report(offset: number, message: string): void {
    this.#errors.push(new CelError(message, offset));
  }

  #typeOf(expr: Expr): CelType {
    return this.#types.get(expr) ?? types.error;
  }

  #set(expr: Expr, type: CelType): void {
    if (type.size <= maxTypeSize) {
      this.#types.set(expr, type);
      return;
    }
    this.#report(expr.offset, 'type of the expression is too large');
    this.#types.set(expr, types.error);
  }

  #newParam(): CelType {
    return param(`_var${this.#params++}`);
  }

  check(expr: Expr): void {
    switch (expr.kind) {
      case 'const':
        this.#types.set(expr, constantType(expr.value));
        return;
      case 'ident':
        this.#set(expr, this.#lookUp(expr, expr.name) ?? this.#undeclared(expr.offset, expr.name));
        return;
      case 'select':
        this.#select(expr);
        return;
      case 'call':
        this.#call(expr);
        return;
      case 'list':
        for (const element of expr.elements) this.check(element);
        this.#set(expr, listOf(this.#join(expr.elements) ?? this.#newParam()));
        return;
      case 'map':
        for (const { key, value } of expr.entries) {
          this.check(key);
          this.check(value);
        }
        this.#map(expr);
        return;
      case 'message':
        this.#set(expr, this.#undeclared(expr.offset, expr.name));
        return;
      case 'fold':
        this.#fold(expr);
        return;
    }
  }

  /** Undefined if no variable or type has that name. */
  #lookUp(expr: Expr, name: string): CelType | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name;
    for (let i = this.#scopes.length - 1; i >= 0 && plain === name; i--) {
      const [variable, type] = this.#scopes[i] ?? ['', types.error];
      if (variable === name) return type;
    }
    const variable = this.#variables.get(plain);
    if (variable !== undefined) {
      this.#used.add(plain);
      return variable;
    }
    const type = typeNames.get(plain);
    if (type !== undefined) this.#named.set(expr, type.runtimeName);
    return type?.type;
  }

  #undeclared(offset: number, name: string): CelType {
    this.#report(offset, `undeclared reference to '${name}' (in container '')`);
    return types.error;
  }

  #select(expr: Select): void {
    const { operand, field, offset, test } = expr;
    const name = test ? undefined : qualifiedName(expr);
    const named = name === undefined ? undefined : this.#lookUp(expr, name);
    if (named !== undefined) {
      this.#set(expr, named);
      return;
    }
    this.check(operand);
    const fieldType = this.#fieldOf(this.#typeOf(operand), field, offset);
    this.#set(expr, test ? types.bool : fieldType);
  }

  #fieldOf(type: CelType, field: string, offset: number): CelType {
    if (type.kind === 'map') return type.value;
    if (type.kind === 'object') {
      const fieldType = type.field(field);
      if (fieldType === undefined) this.#report(offset, `undefined field '${field}'`);
      return fieldType ?? types.error;
    }
    if (type.kind === 'param') {
      this.#bindings.assign(types.dyn, type);
      return types.dyn;
    }
    if (isDynOrError(type)) return types.dyn;
    this.#report(offset, `type '${protoText(type)}' does not support field selection`);
    return types.error;
  }

  #call(expr: Call): void {
    const { fn, target, args, offset } = expr;
    for (const arg of args) this.check(arg);
    if (target !== undefined) this.check(target);
    const overloads = functions.get(fn.startsWith('.') ? fn.slice(1) : fn);
    if (overloads === undefined) {
      this.#set(expr, this.#undeclared(offset, fn));
      return;
    }
    const given = (target === undefined ? args : [target, ...args]).map((part) => this.#typeOf(part));
    const result = this.#resolve(expr, overloads, given);
    if (result === undefined) {
      const shown = given.map(format);
      const signature = target === undefined ? `(${shown.join(', ')})` : `${shown[0]}.(${shown.slice(1).join(', ')})`;
      this.#report(offset, `found no matching overload for '${fn}' applied to '${signature}'`);
    }
    this.#set(expr, result ?? types.error);
  }

  #resolve(expr: Call, overloads: readonly Overload[], given: readonly CelType[]): CelType | undefined {
    const onValue = expr.target !== undefined;
    const matching: string[] = [];
    let result: CelType | undefined;
    for (const overload of overloads) {
      if (overload.onValue !== onValue || overload.args.length !== given.length) continue;
      const fresh = new Map(overload.params.map((name) => [name, this.#newParam()]));
      const args = fresh.size === 0 ? overload.args : overload.args.map((type) => instantiated(type, fresh));
      if (!this.#bindings.assignAll(given, args)) continue;
      matching.push(overload.id);
      const { result: declared } = overload;
      const one = this.#bindings.resolve(fresh.size === 0 ? declared : instantiated(declared, fresh));
      if (result === undefined) result = one;
      else if (result.kind !== 'dyn' && !same(one, result)) result = types.dyn;
    }
    if (result !== undefined) this.#overloads.set(expr, matching);
    return result;
  }

  /** The common type of all parts; undefined without parts. 1.24 requires the parts of a literal to have one type. */
  #join(parts: readonly Expr[]): CelType | undefined {
    let joined: CelType | undefined;
    for (const part of parts) {
      const type = this.#typeOf(part);
      if (joined === undefined) joined = type;
      else if (this.#bindings.assign(joined, type)) joined = mostGeneral(joined, type);
      else {
        this.#report(part.offset, `expected type '${format(joined)}' but found '${format(type)}'`);
        joined = types.error;
      }
    }
    return joined;
  }

  #map(expr: Expr & { readonly kind: 'map' }): void {
    const key = this.#join(expr.entries.map((entry) => entry.key));
    const value = this.#join(expr.entries.map((entry) => entry.value));
    this.#set(expr, mapOf(key ?? this.#newParam(), value ?? this.#newParam()));
  }

  #fold(expr: Fold): void {
    const { range, init, condition, step, result, variable } = expr;
    this.check(range);
    this.check(init);
    const accu = this.#typeOf(init);
    const over = this.#elementOf(range);
    this.#scopes.push([accumulator, accu], [variable, over]);
    this.check(condition);
    this.#expect(condition, types.bool);
    this.check(step);
    this.#expect(step, accu);
    this.#scopes.pop();
    this.check(result);
    this.#scopes.pop();
    this.#set(expr, this.#typeOf(result));
  }

  #elementOf(range: Expr): CelType {
    const type = this.#typeOf(range);
    if (type.kind === 'list') return type.element;
    if (type.kind === 'map') return type.key;
    if (isDynOrError(type) || type.kind === 'param') {
      this.#bindings.assign(types.dyn, type);
      return types.dyn;
    }
    const text = 'cannot be range of a comprehension (must be list, map, or dynamic)';
    this.#report(range.offset, `expression of type '${format(type)}' ${text}`);
    return types.error;
  }

  #expect(expr: Expr, type: CelType): void {
    const exprType = this.#typeOf(expr);
    if (this.#bindings.assign(type, exprType)) return;
    this.#report(expr.offset, `expected type '${format(type)}' but found '${format(exprType)}'`);
  }
}

function instantiated(type: CelType, params: ReadonlyMap<string, CelType>): CelType {
  switch (type.kind) {
    case 'param':
      return params.get(type.name) ?? type;
    case 'list':
      return listOf(instantiated(type.element, params));
    case 'map':
      return mapOf(instantiated(type.key, params), instantiated(type.value, params));
    case 'type':
      return type.of === undefined ? type : { ...type, of: instantiated(type.of, params) };
    default:
      return type;
  }
}

const constants: Readonly<Record<string, CelType>> = {
  boolean: types.bool,
  string: types.string,
  bigint: types.int,
  number: types.double,
};

function constantType(value: unknown): CelType {
  if (value === null) return types.null;
  return constants[typeof value] ?? (value instanceof Uint8Array ? types.bytes : types.uint);
}
