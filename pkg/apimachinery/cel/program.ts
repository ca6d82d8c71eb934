/**
 * Rules in the Common Expression Language (CEL): compiled once, run often.
 *  Own implementation: release 1.24 accepts and limits rules by the type checker, messages and cost model of cel-go
 *  0.10, which CEL packages of npm do not reproduce.
 */
import { type CheckedExpression, checkExpression } from '#apimachinery/cel/checker.js';
import { estimateCost, type SizeOfPath } from '#apimachinery/cel/cost-estimate.js';
import { parseExpression } from '#apimachinery/cel/parser.js';
import { PlanError, plan } from '#apimachinery/cel/plan.js';
import { CostLimitExceeded, Run } from '#apimachinery/cel/run.js';
import { CelError } from '#apimachinery/cel/tokens.js';
import { type CelType, types } from '#apimachinery/cel/types.js';
import { CelFailure, type Value } from '#apimachinery/cel/values.js';
import type { Patterns } from '#apimachinery/patterns/pattern.js';

/** An expression that cannot be compiled, with the reason. */
export class CompileError extends Error {
  override readonly name = 'CompileError';
}

/** The result of a run and its cost; the message if the run failed. */
export interface Outcome {
  readonly value: Value;
  readonly cost: number;
  readonly exceeded: boolean;
}

export interface Program {
  /** Used variables of the environment. */
  readonly variables: ReadonlySet<string>;
  /** The maximum cost of a run. */
  readonly maxCost: number;
  /** Values in the order of the declared variables. */
  run(values: readonly Value[], options: RunOptions): Outcome;
}

export interface RunOptions {
  readonly costLimit: number;
  readonly patterns: Patterns;
}

/** A program with a boolean result. Throws a CompileError. */
export function compileRule(text: string, variables: ReadonlyMap<string, CelType>, sizeOfPath: SizeOfPath): Program {
  const checked = checkedOf(text, variables);
  if (checked.type !== types.bool) throw new CompileError('cel expression must evaluate to a bool');
  try {
    const evaluate = plan(checked, [...variables.keys()]);
    return {
      variables: checked.variables,
      maxCost: estimateCost(checked, sizeOfPath).max,
      run: (values, { costLimit, patterns }) => {
        const run = new Run(values, costLimit, patterns);
        try {
          return { value: evaluate(run), cost: run.cost, exceeded: false };
        } catch (error) {
          if (!(error instanceof CostLimitExceeded)) throw error;
          return { value: new CelFailure(error.message), cost: run.cost, exceeded: true };
        }
      },
    };
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    throw new CompileError(`program instantiation failed: ${error.message}`);
  }
}

function checkedOf(text: string, variables: ReadonlyMap<string, CelType>): CheckedExpression {
  let checked: CheckedExpression;
  try {
    checked = checkExpression(parseExpression(text), variables);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    throw failed(text, [error]);
  }
  if (checked.errors.length > 0) throw failed(text, checked.errors);
  return checked;
}

/** Maximum number and length of reported errors: each quotes its line. */
const maxErrors = 20;
const maxShown = 10_000;

function failed(text: string, errors: readonly CelError[]): CompileError {
  const messages = errors
    .slice(0, Math.max(1, Math.min(maxErrors, Math.trunc(maxShown / text.length))))
    .map((error) => describe(text, error));
  return new CompileError(`compilation failed: ${messages.join('\n')}`);
}

/** The error in compiler style: position, message, the line and a mark below. */
function describe(text: string, { message, offset }: CelError): string {
  const before = text.slice(0, offset).split('\n');
  const column = [...(before.at(-1) ?? '')].length;
  const line = (text.split('\n')[before.length - 1] ?? '').replaceAll('\t', ' ');
  const points = [...line];
  const mark = points.slice(0, column).map((point) => (point > '\u007f' ? '．' : '.'));
  const end = (points[column] ?? '') > '\u007f' ? '＾' : '^';
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${mark.join('')}${end}`;
}
