/**
 * Requirements of a label selector, indexed by label: matching an object takes one lookup per label even for thousands
 * of terms and values. Pure.
 */
export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without duplicates. */
  readonly values: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** All requirements for one label. */
interface KeyTest {
  present: boolean;
  absent: boolean;
  oneOf: Set<string> | undefined;
  noneOf: Set<string> | undefined;
  above: bigint | undefined;
  below: bigint | undefined;
}

/** Up to this many optional labels are looked up; beyond, the labels of the object are iterated. */
const few = 8;

export const integer = /^[+-]?[0-9]+$/;

export class LabelTest {
  /** Labels that must be present. */
  readonly #required = new Map<string, KeyTest>();
  /** Labels that may be absent. */
  readonly #optional = new Map<string, KeyTest>();

  constructor(requirements: readonly LabelRequirement[]) {
    const tests = new Map<string, KeyTest>();
    for (const requirement of requirements) {
      let test = tests.get(requirement.key);
      if (test === undefined) {
        test = {
          present: false,
          absent: false,
          oneOf: undefined,
          noneOf: undefined,
          above: undefined,
          below: undefined,
        };
        tests.set(requirement.key, test);
      }
      add(test, requirement);
    }
    for (const [key, test] of tests) (test.present ? this.#required : this.#optional).set(key, test);
  }

  matches(labels: Labels | undefined): boolean {
    for (const [key, test] of this.#required) {
      const value = ownLabel(labels, key);
      if (value === undefined || !holds(test, value)) return false;
    }
    if (this.#optional.size === 0 || labels === undefined) return true;
    return this.#optional.size <= few ? this.#fewHold(labels) : this.#manyHold(labels);
  }

  #fewHold(labels: Labels): boolean {
    for (const [key, test] of this.#optional) {
      const value = ownLabel(labels, key);
      if (value !== undefined && !holds(test, value)) return false;
    }
    return true;
  }

  #manyHold(labels: Labels): boolean {
    for (const key of Object.keys(labels)) {
      const test = this.#optional.get(key);
      if (test !== undefined && !holds(test, labels[key] ?? '')) return false;
    }
    return true;
  }
}

/** Own labels only: a label named like a member of Object.prototype must not match by accident. */
function ownLabel(labels: Labels | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function add(test: KeyTest, { operator, values }: LabelRequirement): void {
  test.present ||= operator !== '!' && operator !== '!=' && operator !== 'notin';
  switch (operator) {
    case '=':
    case '==':
    case 'in': {
      const { oneOf } = test;
      test.oneOf = new Set(oneOf === undefined ? values : values.filter((value) => oneOf.has(value)));
      return;
    }
    case '!=':
    case 'notin':
      test.noneOf ??= new Set();
      for (const value of values) test.noneOf.add(value);
      return;
    case 'exists':
      return;
    case '!':
      test.absent = true;
      return;
    case 'gt':
    case 'lt': {
      const bound = BigInt(values[0] ?? '0');
      if (operator === 'gt') test.above = test.above === undefined || bound > test.above ? bound : test.above;
      else test.below = test.below === undefined || bound < test.below ? bound : test.below;
    }
  }
}

function holds({ absent, oneOf, noneOf, above, below }: KeyTest, value: string): boolean {
  if (absent || oneOf?.has(value) === false || noneOf?.has(value) === true) return false;
  if (above === undefined && below === undefined) return true;
  if (!integer.test(value)) return false;
  const actual = BigInt(value);
  return (above === undefined || actual > above) && (below === undefined || actual < below);
}
