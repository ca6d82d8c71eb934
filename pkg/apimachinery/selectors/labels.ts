/**
 * Label selectors: requirements, matching and text form. Semantics of release 1.24
 * (apimachinery/pkg/labels/selector.go). `label-parser.ts` parses the text form.
 */
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import {
  integer,
  type LabelOperator,
  type LabelRequirement,
  LabelTest,
} from '#apimachinery/selectors/label-requirement.js';
import { labelValueErrors, qualifiedNameErrors } from '#apimachinery/validation/names.js';

type Labels = Readonly<Record<string, string>>;

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
      return `${key}>${values[0] ?? ''}`;
    case 'lt':
      return `${key}<${values[0] ?? ''}`;
    case '=':
    case '==':
    case '!=':
      return `${key}${operator}${values[0] ?? ''}`;
  }
}

/** A conjunction of requirements, or the selector that matches nothing. Immutable. */
export class LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  readonly #nothing: boolean;
  #test: LabelTest | undefined;

  constructor(requirements: readonly LabelRequirement[], options?: { nothing?: boolean }) {
    this.requirements = [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    this.#nothing = options?.nothing ?? false;
  }

  /** True if every object matches. */
  get isEverything(): boolean {
    return !this.#nothing && this.requirements.length === 0;
  }

  get isNothing(): boolean {
    return this.#nothing;
  }

  matches(labels: Labels | undefined): boolean {
    if (this.#nothing) return false;
    this.#test ??= new LabelTest(this.requirements);
    return this.#test.matches(labels);
  }

  /** The only value that `key` may have; undefined if there may be several. */
  exactValue(key: string): string | undefined {
    for (const { key: k, operator, values } of this.requirements) {
      if (k === key && (operator === '=' || operator === '==' || operator === 'in') && values.length === 1) {
        return values[0];
      }
    }
    return undefined;
  }

  /** The text form; empty for the selector that matches nothing. */
  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

export const everything = new LabelSelector([]);
const nothing = new LabelSelector([], { nothing: true });

function valueCountError(operator: LabelOperator, values: readonly string[]): string | undefined {
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length > 0 ? undefined : "for 'in', 'notin' operators, values set can't be empty";
    case '=':
    case '==':
    case '!=':
      return values.length === 1 ? undefined : 'exact-match compatibility requires one single value';
    case 'exists':
    case '!':
      return values.length === 0 ? undefined : 'values set must be empty for exists and does not exist';
    case 'gt':
    case 'lt':
      return values.length === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required";
  }
}

function isBound(operator: LabelOperator): boolean {
  return operator === 'gt' || operator === 'lt';
}

const show = (value: unknown): string => JSON.stringify(value);

/**
 * A valid requirement. Throws 400 BadRequest with the reasons; `path` is its place for messages (release 1.24 writes
 * `<nil>` for text selectors).
 */
export function makeRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
  path?: string,
): LabelRequirement {
  const errors: string[] = [];
  const keyErrors = qualifiedNameErrors(key);
  if (keyErrors.length > 0) {
    errors.push(
      `${path === undefined ? '<nil>' : `${path}.key`}: Invalid value: ${show(key)}: ${keyErrors.join('; ')}`,
    );
  }
  const valuesPath = path === undefined ? 'values' : `${path}.values`;
  const countError = valueCountError(operator, values);
  if (countError !== undefined) errors.push(`${valuesPath}: Invalid value: ${show(values)}: ${countError}`);
  else if (isBound(operator) && !integer.test(values[0] ?? '')) {
    const why = "for 'Gt', 'Lt' operators, the value must be an integer";
    errors.push(`${valuesPath}[0]: Invalid value: ${show(values[0])}: ${why}`);
  }
  values.forEach((value, i) => {
    const valueErrors = labelValueErrors(value);
    if (valueErrors.length === 0) return;
    errors.push(`${valuesPath}[${i}][${key}]: Invalid value: ${show(value)}: ${valueErrors.join('; ')}`);
  });
  if (errors.length > 0) throw badRequest(errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`);
  return { key, operator, values: [...new Set(values)].sort() };
}

/** The input of `selectorFromObject`: metav1.LabelSelector. */
export interface LabelSelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const operatorOfObject: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/** The selector of a metav1.LabelSelector: absent matches nothing, empty matches everything. Throws 400 BadRequest. */
export function selectorFromObject(object: LabelSelectorObject | undefined): LabelSelector {
  if (object === undefined) return nothing;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(object.matchLabels ?? {})) {
    requirements.push(makeRequirement(key, '=', [value]));
  }
  for (const expression of object.matchExpressions ?? []) {
    const operator = Object.hasOwn(operatorOfObject, expression.operator)
      ? operatorOfObject[expression.operator]
      : undefined;
    if (operator === undefined) throw badRequest(`${show(expression.operator)} is not a valid label selector operator`);
    requirements.push(makeRequirement(expression.key, operator, expression.values ?? []));
  }
  return requirements.length === 0 ? everything : new LabelSelector(requirements);
}

/**
 * Like `selectorFromObject`, but undefined for an invalid selector: validation of 1.24 accepts invalid label values in
 * `matchExpressions`, so stored objects may have them.
 */
export function compileSelector(object: LabelSelectorObject | undefined): LabelSelector | undefined {
  try {
    return selectorFromObject(object);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** The selector that requires exactly these labels; no labels match everything. Keys and values are not validated. */
export function selectorFromLabels(labels: Labels | undefined): LabelSelector {
  const entries = Object.entries(labels ?? {});
  if (entries.length === 0) return everything;
  return new LabelSelector(entries.map(([key, value]) => ({ key, operator: '=', values: [value] })));
}
