/** What release 1.24 refuses about a scheduler's configuration file, beyond the rules of the options. */
import { isPlain, type Plain } from '#daemon/options/config-decode.js';

/** One message per violation, each with the field's path in front. */
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
  const seen = new Set<unknown>();
  for (const [i, profile] of profiles.entries()) {
    if (!isPlain(profile)) continue;
    const name = profile['schedulerName'];
    // One profile may leave its name out and gets the default; several must tell themselves apart.
    if (profiles.length > 1 && (name === undefined || name === '')) {
      errors.push(`profiles[${i}].schedulerName: Required value`);
    } else if (seen.has(name)) {
      errors.push(`profiles[${i}].schedulerName: Duplicate value: ${JSON.stringify(name)}`);
    }
    seen.add(name);
  }
  return errors;
}

function extenderErrors(extenders: unknown): string[] {
  if (!Array.isArray(extenders)) return [];
  const errors: string[] = [];
  const managed = new Set<unknown>();
  let binding = 0;
  for (const [i, extender] of extenders.entries()) {
    if (!isPlain(extender)) continue;
    const { bindVerb = '', managedResources = [], prioritizeVerb = '', weight = 0 } = extender;
    if (prioritizeVerb !== '' && Number(weight) <= 0) {
      errors.push(`extenders[${i}].weight: Invalid value: ${weight}: must have a positive weight applied to it`);
    }
    if (bindVerb !== '') binding++;
    for (const [j, { name }] of (managedResources as { name: string }[]).entries()) {
      const at = `extenders[${i}].managedResources[${j}].name: Invalid value: ${JSON.stringify(name)}`;
      if (!isExtendedResource(name)) errors.push(`${at}: is an invalid extended resource name`);
      if (managed.has(name)) errors.push(`${at}: duplicate extender managed resource name`);
      managed.add(name);
    }
  }
  if (binding > 1) {
    const found = JSON.stringify(`found ${binding} extenders implementing bind`);
    errors.push(`extenders: Invalid value: ${found}: only one extender can implement bind`);
  }
  return errors;
}

/** Of a domain that is not the system's own. */
const isExtendedResource = (name: string): boolean =>
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name) &&
  !/(^|\.)(kubernetes|orch)\.io\//.test(name) &&
  !name.startsWith('requests.');
