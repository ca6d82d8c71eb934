/**
 * Limits the estimated costs of a definition's rules. Source: 1.24, …/pkg/apis/apiextensions/validation/validation.go.
 */
import type { CompiledRule } from '#api/apiextensions/v1/expressions/rules.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const ruleLimit = 10_000_000;
const totalLimit = 100_000_000;
/** Maximum number of expensive rules to name. */
const maxNamed = 4;

/** The maximum number of child values per value of a schema; undefined: unlimited. */
export function elementsOf({
  type,
  additionalProperties,
  maxProperties,
  maxItems,
}: JSONSchemaProps): number | undefined {
  const limit = (value: number | bigint | undefined) => (value === undefined ? undefined : Math.max(Number(value), 0));
  if (type === 'array') return limit(maxItems);
  return type === 'object' && additionalProperties !== undefined ? limit(maxProperties) : 1;
}

/** Sums the costs of all rules of a schema. */
export class RuleCosts {
  #total = 0;
  #expensive: { readonly path: FieldPath; readonly cost: number }[] = [];
  readonly #prefix: string;

  /** `prefix`: the prefix of schema members outside of OpenAPI. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Adds a rule's cost; returns the failures for exceeding the limit of a single rule. */
  observe({ maxCost, maxCardinality }: CompiledRule, cardinality: number | undefined, path: FieldPath): FieldFailure[] {
    const cost = maxCost === 0 ? 0 : maxCost * (cardinality ?? maxCardinality);
    this.#total += cost;
    if (cost >= totalLimit / 100) {
      this.#expensive.push({ path, cost });
      this.#expensive = this.#expensive.sort((a, b) => b.cost - a.cost).slice(0, maxNamed);
    }
    return cost > ruleLimit ? [forbiddenField(path, exceeded('estimated rule cost', cost, ruleLimit))] : [];
  }

  /** The failures for exceeding the total limit. `path`: of the schema. */
  failures(path: FieldPath): FieldFailure[] {
    if (this.#total <= totalLimit) return [];
    const text = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const name = `${this.#prefix}validations estimated rule cost total for entire OpenAPIv3 schema`;
    return [
      ...this.#expensive.map((rule) => forbiddenField(rule.path, text)),
      forbiddenField(path, exceeded(name, this.#total, totalLimit)),
    ];
  }
}

function exceeded(name: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const excess = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${name} exceeds budget by factor of ${excess} (${advice})`;
}
