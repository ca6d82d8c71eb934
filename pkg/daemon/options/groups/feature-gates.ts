/** The `--feature-gates` option and what it means. */
import { type FeatureGate, type FeatureGateName, featureGateTable } from '#daemon/options/groups/feature-gate-table.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const gates: Readonly<Record<string, FeatureGate>> = featureGateTable;

export const featureGateOptions = {
  'feature-gates': {
    type: 'boolMap',
    section: 'Generic',
    meaning: [
      'Switches for features, key=true|false, comma separated. AllAlpha and AllBeta stand for all of that stage. Gates:',
      ...Object.entries(gates).map(([name, gate]) => `${name} (${gate.stage.toUpperCase()}, default=${gate.default})`),
    ].join('\n'),
  },
} as const satisfies OptionTable;

/** Unknown gates are errors. */
export const featureGateRules: Rule<OptionValues<typeof featureGateOptions>> = (values) =>
  Object.keys(values['feature-gates'])
    .filter((name) => name !== 'AllAlpha' && name !== 'AllBeta' && !Object.hasOwn(gates, name))
    .map((name) => `--feature-gates: unrecognized feature gate: ${name}`);

/** One warning for each gate of the option's value that is not among those that act in the daemon. */
export function idleGateWarnings(values: Readonly<Record<string, boolean>>, acting: readonly string[]): string[] {
  const acts = (name: string): boolean => {
    if (name !== 'AllAlpha' && name !== 'AllBeta') return acting.includes(name);
    return acting.some((known) => gates[known]?.stage === (name === 'AllAlpha' ? 'alpha' : 'beta'));
  };
  return Object.keys(values)
    .filter((name) => !acts(name))
    .map((name) => `Feature gate ${name} has no effect: nothing in this daemon depends on it yet`);
}

/** Which features are on. */
export class FeatureGates {
  readonly #overrides: Readonly<Record<string, boolean>>;
  /** Answers given before: every write of a pod asks of a dozen gates. */
  readonly #known = new Map<FeatureGateName, boolean>();

  /** `overrides`: the option's value; a gate named in it wins over AllAlpha and AllBeta. */
  constructor(overrides: Readonly<Record<string, boolean>> = {}) {
    this.#overrides = overrides;
  }

  enabled(name: FeatureGateName): boolean {
    let on = this.#known.get(name);
    if (on === undefined) {
      on = this.#decide(name);
      this.#known.set(name, on);
    }
    return on;
  }

  #decide(name: FeatureGateName): boolean {
    const own = this.#overrides[name];
    if (own !== undefined) return own;
    const gate: FeatureGate = featureGateTable[name];
    const all = this.#overrides[gate.stage === 'alpha' ? 'AllAlpha' : 'AllBeta'];
    return all ?? gate.default;
  }
}
