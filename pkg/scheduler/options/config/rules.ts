/** Rules of release 1.24 for the configuration file, beyond the rules of the options. */
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import { extenderErrors } from '#scheduler/options/config/extenders.js';

/** Validation errors, each with its field path. */
export function configErrors(config: Plain): string[] {
  return [...numberErrors(config), ...profileErrors(config['profiles']), ...extenderErrors(config['extenders'])];
}

function numberErrors(config: Plain): string[] {
  const errors: string[] = [];
  const invalid = (name: string, why: string) => errors.push(`${name}: Invalid value: ${String(config[name])}: ${why}`);
  const value = (name: string, otherwise: number) => (typeof config[name] === 'number' ? config[name] : otherwise);
  if (value('parallelism', 16) <= 0) invalid('parallelism', 'should be an integer value greater than zero');
  const percentage = value('percentageOfNodesToScore', 0);
  if (percentage < 0 || percentage > 100) invalid('percentageOfNodesToScore', 'not in valid range [0-100]');
  const initial = value('podInitialBackoffSeconds', 1);
  if (initial <= 0) invalid('podInitialBackoffSeconds', 'must be greater than 0');
  if (value('podMaxBackoffSeconds', 10) < initial) {
    invalid('podMaxBackoffSeconds', 'must be greater than or equal to PodInitialBackoffSeconds');
  }
  return errors;
}

function profileErrors(profiles: unknown): string[] {
  if (!Array.isArray(profiles)) return [];
  if (profiles.length === 0) return [];
  const errors: string[] = [];
  const names = new Set<unknown>();
  for (const [i, profile] of profiles.entries()) {
    if (!isPlain(profile)) continue;
    const name = profile['schedulerName'];
    // A single profile may omit its name; several need distinct names.
    if (profiles.length > 1 && (name === undefined || name === '')) {
      errors.push(`profiles[${i}].schedulerName: Required value`);
    } else if (names.has(name)) {
      errors.push(`profiles[${i}].schedulerName: Duplicate value: ${JSON.stringify(name)}`);
    }
    names.add(name);
  }
  return errors;
}
