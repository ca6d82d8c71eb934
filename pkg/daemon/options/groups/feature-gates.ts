/** The `--feature-gates` option. */
import { quoted } from '#apimachinery/errors/message-values.js';
import {
  type FeatureGate,
  type FeatureGateName,
  featureGateTable,
  gateName,
} from '#daemon/options/groups/feature-gate-table.js';
import { idleGate } from '#daemon/options/groups/idle-gates.js';
import type { InertFindings } from '#daemon/options/inert.js';
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

/** The gates that some daemon uses. */
const actingSomewhere = Object.keys(gates).filter((name) => idleGate(name as FeatureGateName) === undefined);

/**
 * What follows from gates that will disappear or on which nothing depends, in this daemon (`acting`: the gates that it uses) or in
 * any. AllAlpha and AllBeta name what they set in vain; a gate that other daemons use is not in vain then.
 */
export function idleGateFindings(
  values: Readonly<Record<string, boolean>>,
  acting: readonly string[] = actingSomewhere,
): InertFindings {
  const warnings: string[] = [];
  const refusals: string[] = [];
  for (const [name, on] of Object.entries(values)) {
    if (families.has(name)) warnings.push(...familyWarnings(name, on, values));
    const gate = gateOf(name);
    if (gate === undefined) continue;
    const leaves = gate.stage === 'ga' || gate.stage === 'deprecated';
    const stage = gate.stage === 'ga' ? 'GA' : 'deprecated';
    if (leaves) warnings.push(`Setting ${stage} feature gate ${name}=${on}. It will be removed in a future release.`);
    const own = gateName(name);
    const idle = idleGate(own as FeatureGateName);
    // A gate set to what happens anyway acts as set.
    if (acting.includes(own) || idle?.isOn === on || (idle === undefined && gate.default === on)) continue;
    const text = `Feature gate ${name} has no effect: ${idle?.why ?? 'nothing in this daemon depends on it'}`;
    if (on && idle?.protects === true) refusals.push(`${text}; it protects the cluster, so the start ends here`);
    else warnings.push(text);
  }
  return { warnings, refusals };
}

function familyWarnings(family: string, on: boolean, values: Readonly<Record<string, boolean>>): string[] {
  const stage = family === 'AllAlpha' ? 'alpha' : 'beta';
  const own = new Set(Object.keys(values).map(gateName));
  const vain = Object.entries(gates).filter(([name, gate]) => {
    const idle = idleGate(name as FeatureGateName);
    return gate.stage === stage && gate.default !== on && !own.has(name) && idle !== undefined && idle.isOn !== on;
  });
  if (vain.length === 0) return [];
  return [`Feature gate ${family}=${on} has no effect on ${vain.map(([name]) => name).join(', ')}`];
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
