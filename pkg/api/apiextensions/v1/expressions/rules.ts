/** Rules of one schema, compiled. Source: 1.24, …/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go. */

import { declaredType, maxCardinality, sizeAt } from '#api/apiextensions/v1/expressions/declared-type.js';
import type { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import { CompileError, compileRule, type Program } from '#apimachinery/cel/program.js';

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined: the rule says nothing, or it cannot be compiled. */
  readonly program: Program | undefined;
  /** Why it cannot be compiled. */
  readonly error: string | undefined;
  /** It looks at the value before the change, so that it is about changes only. */
  readonly isTransition: boolean;
  /** The most that one run may cost. */
  readonly maxCost: number;
  /** How often it may run for one object, if nothing else bounds that. */
  readonly maxCardinality: number;
}

/** Some name that nobody can depend on. */
const typeName = 'selfType0';

/** None where rules do not see such values. `isRoot`: it is an object of the API. */
export function compileRules(schema: Structural, isRoot: boolean): CompiledRule[] {
  const { validations } = schema;
  const declared = validations.length === 0 ? undefined : declaredType(schema, isRoot, typeName);
  if (declared === undefined) return [];
  const variables = new Map([
    ['self', declared.type],
    ['oldSelf', declared.type],
  ]);
  const times = maxCardinality(schema);
  return validations.map((rule) => {
    const none = { rule, program: undefined, error: undefined, isTransition: false, maxCost: 0, maxCardinality: 0 };
    const text = rule.rule ?? '';
    if (text.trim() === '') return none;
    try {
      const program = compileRule(text, variables, (path) => sizeAt(declared, path));
      const isTransition = program.variables.has('oldSelf');
      return { ...none, program, isTransition, maxCost: program.maxCost, maxCardinality: times };
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      return { ...none, error: error.message };
    }
  });
}
