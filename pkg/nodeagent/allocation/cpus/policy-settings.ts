/** The options of the static CPU policy that 1.24 has, and their feature gates (cpumanager/policy_options.go). */
import { quoted } from '#apimachinery/errors/message-values.js';

interface Gates {
  enabled(name: 'CPUManagerPolicyAlphaOptions' | 'CPUManagerPolicyBetaOptions'): boolean;
}

export interface StaticPolicyOptions {
  /** Only whole cores: no two containers share one. */
  readonly fullCores: boolean;
  /** Evenly from several NUMA nodes if one is not enough. */
  readonly distributed: boolean;
}

const fullCores = 'full-pcpus-only';
const distributed = 'distribute-cpus-across-numa';

/** Throws Error with the words of 1.24. */
export function staticPolicyOptions(texts: Readonly<Record<string, string>>, gates: Gates): StaticPolicyOptions {
  for (const name of Object.keys(texts).sort()) {
    if (name !== fullCores && name !== distributed) {
      throw new Error(`unknown CPU Manager Policy option: ${quoted(name)}`);
    }
    const [stage, gate] =
      name === fullCores
        ? (['Beta', 'CPUManagerPolicyBetaOptions'] as const)
        : (['Alpha', 'CPUManagerPolicyAlphaOptions'] as const);
    if (!gates.enabled(gate)) {
      throw new Error(`CPU Manager Policy ${stage}-level Options not enabled, but option ${quoted(name)} provided`);
    }
  }
  return { fullCores: isSet(texts, fullCores), distributed: isSet(texts, distributed) };
}

/** The texts that Go's strconv.ParseBool accepts. */
const booleans: Readonly<Record<string, boolean>> = {
  ...{ '1': true, t: true, T: true, true: true, TRUE: true, True: true },
  ...{ '0': false, f: false, F: false, false: false, FALSE: false, False: false },
};

function isSet(texts: Readonly<Record<string, string>>, name: string): boolean {
  const text = texts[name];
  if (text === undefined) return false;
  const answer = booleans[text];
  if (answer !== undefined) return answer;
  const problem = `strconv.ParseBool: parsing ${quoted(text)}: invalid syntax`;
  throw new Error(`bad value for option ${quoted(name)}: ${problem}`);
}
