/**
 * Compiles the CEL rules of a schema. Source: 1.24, …/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go.
 */

import { declaredType, maxCardinality, sizeAt } from '#api/apiextensions/v1/expressions/declared-type.js';
import type { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import { CompileError, compileRule, type Program } from '#apimachinery/cel/program.js';

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined for an empty rule or one that does not compile. */
  readonly program: Program | undefined;
  /** The compile error. */
  readonly error: string | undefined;
  /** The rule uses the old value, so it applies to updates only. */
  readonly isTransition: boolean;
  /** Maximum cost of one evaluation. */
  readonly maxCost: number;
  /** Maximum number of evaluations per object without other limits. */
  readonly maxCardinality: number;
}

/** An arbitrary internal type name. */
const typeName = 'selfType0';

/** Empty if rules cannot see such values. `isRoot`: an API object. */
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
