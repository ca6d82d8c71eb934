/** The profiles of a scheduler's configuration file. */
import { decodeFields, isPlain, type Plain } from '#daemon/options/config-decode.js';
import { type NamedPlugin, type PluginSet, type PluginSets, pluginPoints } from '#scheduler/framework/plugin-sets.js';
import type { ProfileSettings } from '#scheduler/plugins/profiles.js';
import type { PluginKind } from '#scheduler/plugins/registry.js';

const points = [...pluginPoints, 'multiPoint'] as const;

/** `config` is decoded by the table of fields; `kinds`: the plugins that there are. Adds what is wrong to `errors`, each with the field's path in front. */
export function profilesOf(
  config: Plain,
  defaultName: string,
  kinds: readonly PluginKind[],
  errors: string[],
): ProfileSettings[] {
  return profilesIn(config).map((profile, i) => ({
    schedulerName: typeof profile['schedulerName'] === 'string' ? profile['schedulerName'] : defaultName,
    sets: setsOf(profile['plugins'], `profiles[${i}].plugins`, kinds, errors),
    args: argsOf(profile['pluginConfig'], `profiles[${i}].pluginConfig`, kinds, errors),
  }));
}

const profilesIn = (config: Plain): Plain[] =>
  Array.isArray(config['profiles']) ? config['profiles'].filter(isPlain) : [];

function listOf(set: unknown, which: 'enabled' | 'disabled'): readonly NamedPlugin[] {
  const list = isPlain(set) ? set[which] : undefined;
  return Array.isArray(list) ? (list as NamedPlugin[]) : [];
}

function setsOf(plugins: unknown, path: string, kinds: readonly PluginKind[], errors: string[]): PluginSets {
  const known = new Set(kinds.map(({ name }) => name));
  if (!isPlain(plugins)) return {};
  const sets: Partial<Record<(typeof points)[number], PluginSet>> = {};
  for (const point of points) {
    if (plugins[point] === undefined) continue;
    const enabled = listOf(plugins[point], 'enabled');
    const seen = new Set<string>();
    for (const [i, { name }] of enabled.entries()) {
      const at = `${path}.${point}.enabled[${i}].name`;
      if (seen.has(name)) errors.push(`${at}: Duplicate value: ${JSON.stringify(name)}`);
      else if (!known.has(name)) {
        errors.push(`${at}: Invalid value: ${JSON.stringify(name)}: does not exist`);
      }
      seen.add(name);
    }
    sets[point] = {
      enabled,
      disabled: listOf(plugins[point], 'disabled').map(({ name }) => name),
    };
  }
  return sets;
}

function argsOf(configs: unknown, path: string, kinds: readonly PluginKind[], errors: string[]): Record<string, Plain> {
  const result: Record<string, Plain> = {};
  for (const [i, config] of (Array.isArray(configs) ? configs : []).entries()) {
    if (!isPlain(config)) continue;
    const at = `${path}[${i}]`;
    const { args, name } = config;
    const kind = kinds.find((each) => each.name === name);
    if (kind?.args === undefined) {
      const why = kind === undefined ? 'does not exist' : 'takes no arguments';
      errors.push(`${at}.name: Invalid value: ${JSON.stringify(name)}: ${why}`);
      continue;
    }
    if (result[kind.name] !== undefined) errors.push(`${at}.name: Duplicate value: ${JSON.stringify(name)}`);
    if (!isPlain(args)) {
      if (args !== undefined) errors.push(`${at}.args: Invalid value: ${JSON.stringify(args)}: must be an object`);
      continue;
    }
    const wrong: string[] = [];
    const decoded = decodeFields({ ...kind.args, apiVersion: 'string', kind: 'string' }, args, wrong, `${at}.args.`);
    if (wrong.length === 0) wrong.push(...(kind.errors?.(decoded) ?? []).map((error) => `${at}.args.${error}`));
    errors.push(...wrong);
    result[kind.name] = decoded;
  }
  return result;
}
