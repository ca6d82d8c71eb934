/** The `--feature-gates` option. */
import { quoted } from '#apimachinery/errors/message-values.js';
import {
  type FeatureGate,
  type FeatureGateName,
  featureGateTable,
  gateName,
} from '#daemon/options/groups/feature-gate-table.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const gates: Readonly<Record<string, FeatureGate>> = featureGateTable;
const families: ReadonlySet<string> = new Set(['AllAlpha', 'AllBeta']);

function gateOf(name: string): FeatureGate | undefined {
  const own = gateName(name);
  return Object.hasOwn(gates, own) ? gates[own] : undefined;
}

/** The error that 1.24 reports for one occurrence of the option: that of its first invalid pair. */
function gatesError(text: string): string | undefined {
  for (const pair of text.split(',')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = (at < 0 ? pair : pair.slice(0, at)).trim();
    if (at < 0) return `missing bool value for ${name}`;
    const value = pair.slice(at + 1).trim();
    if (!/^(1|t|T|true|TRUE|True|0|f|F|false|FALSE|False)$/.test(value)) {
      return `invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${quoted(value)}: invalid syntax`;
    }
    const error = gateError(name, /^(1|t|T|true|TRUE|True)$/.test(value));
    if (error !== undefined) return error;
  }
  return undefined;
}

export const featureGateOptions = {
  'feature-gates': {
    type: 'boolMap',
    check: gatesError,
    section: 'Generic',
    meaning: [
      'Feature switches, key=true|false, comma separated. AllAlpha and AllBeta set all gates of that stage. Gates:',
      // As in 1.24: the other stages will disappear.
      ...Object.entries(gates)
        .filter(([, { stage }]) => stage === 'alpha' || stage === 'beta')
        .map(([name, gate]) => `${name} (${gate.stage.toUpperCase()}, default=${gate.default})`),
    ].join('\n'),
  },
} as const satisfies OptionTable;

/** Refuses unknown gates, and locked gates that are not set to their default, in 1.24's words. */
function gateError(name: string, on: boolean): string | undefined {
  if (families.has(name)) return undefined;
  const gate = gateOf(name);
  if (gate === undefined) return `unrecognized feature gate: ${name}`;
  if (gate.locked === undefined || gate.default === on) return undefined;
  return `cannot set feature gate ${name} to ${on}, feature is locked to ${gate.default}`;
}

/** The same check for gates from a configuration file or another program. */
export const featureGateRules: Rule<OptionValues<typeof featureGateOptions>> = (values) =>
  Object.entries(values['feature-gates']).flatMap(([name, on]) => {
    const error = gateError(name, on);
    return error === undefined ? [] : [`--feature-gates: ${error}`];
  });

/** One warning per gate that will disappear or that the daemon does not use. */
export function idleGateWarnings(values: Readonly<Record<string, boolean>>, acting: readonly string[]): string[] {
  const acts = (name: string): boolean => {
    if (!families.has(name)) return acting.includes(gateName(name));
    return acting.some((gate) => gates[gate]?.stage === (name === 'AllAlpha' ? 'alpha' : 'beta'));
  };
  return Object.entries(values).flatMap(([name, on]) => {
    const gate = gateOf(name);
    const leaves = gate?.stage === 'ga' || gate?.stage === 'deprecated';
    const stage = gate?.stage === 'ga' ? 'GA' : 'deprecated';
    return [
      ...(leaves ? [`Setting ${stage} feature gate ${name}=${on}. It will be removed in a future release.`] : []),
      // A disappearing gate set to its default needs no warning: it acts as set.
      ...(acts(name) || (leaves && gate?.default === on)
        ? []
        : [`Feature gate ${name} has no effect: nothing in this daemon depends on it yet`]),
    ];
  });
}

export class FeatureGates {
  readonly #overrides: Readonly<Record<string, boolean>>;
  /** Cached decisions: every pod write checks a dozen gates. */
  readonly #decisions = new Map<FeatureGateName, boolean>();

  /** `overrides`: the option's value; a gate in it wins over AllAlpha and AllBeta. */
  constructor(overrides: Readonly<Record<string, boolean>> = {}) {
    this.#overrides = Object.fromEntries(Object.entries(overrides).map(([name, on]) => [gateName(name), on]));
  }

  enabled(name: FeatureGateName): boolean {
    let on = this.#decisions.get(name);
    if (on === undefined) {
      on = this.#decide(name);
      this.#decisions.set(name, on);
    }
    return on;
  }

  #decide(name: FeatureGateName): boolean {
    const own = this.#overrides[name];
    if (own !== undefined) return own;
    const gate: FeatureGate = featureGateTable[name];
    if (gate.stage === 'ga' || gate.stage === 'deprecated') return gate.default;
    return this.#overrides[gate.stage === 'alpha' ? 'AllAlpha' : 'AllBeta'] ?? gate.default;
  }
}
