/**
 * Combines the scheduler's options with its configuration file as release 1.24: a file overrides the options deprecated
 * in its favor, while leader election options override the file.
 */

import { dirname, resolve as resolvePath } from 'node:path';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { deepFreeze } from '#apimachinery/freeze.js';
import { decodeFields, isPlain, type Plain, parseConfigText } from '#daemon/options/config-decode.js';
import { overlayConfig } from '#daemon/options/config-file.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { defaultValue } from '#daemon/options/value.js';
import { type NamedPlugin, type PluginSet, type PluginSets, pluginPoints } from '#scheduler/framework/plugin-sets.js';
import { extendersOf } from '#scheduler/options/config/extenders.js';
import {
  clientConfigField,
  configVersions,
  isOldConfig,
  schedulerConfigFields,
} from '#scheduler/options/config/fields.js';
import { configErrors } from '#scheduler/options/config/rules.js';
import { defaultSettings, type SchedulerSettings } from '#scheduler/options/config/settings.js';
import { ignoredWithConfig, type SchedulerOptionTable } from '#scheduler/options/options.js';
import { loadPluginModules } from '#scheduler/plugins/modules.js';
import { oldDefaultPlugins, type ProfileSettings } from '#scheduler/plugins/profiles.js';
import { type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

export interface ResolvedScheduler {
  readonly options: ParsedOptions<SchedulerOptionTable>;
  readonly settings: SchedulerSettings;
}

export interface ResolveSources {
  readonly table: SchedulerOptionTable;
  readonly dialect: Dialect;
  /** The file of `--config`; undefined: none. */
  readonly file?: ConfigFile;
  /** The plugins of the file's modules. */
  readonly morePlugins?: readonly PluginKind[];
}

export interface ConfigFile {
  readonly text: string;
  /** Its path. */
  readonly source: string;
}

/** Loads the file's modules, relative to its folder. Rejects with an OptionsError that names the file. */
export async function pluginsOfModules({ source, text }: ConfigFile): Promise<PluginKind[]> {
  try {
    return await loadPluginModules(modulePaths(decode(text), source));
  } catch (error) {
    throw inFile(error, source);
  }
}

function modulePaths(config: Plain, source: string): string[] {
  const modules = Array.isArray(config['pluginModules']) ? config['pluginModules'].filter(isPlain) : [];
  return modules.map(({ path }) => resolvePath(dirname(source), String(path)));
}

/** Prefixes errors with the file name. */
function inFile(error: unknown, source: string): unknown {
  if (!(error instanceof OptionsError)) return error;
  return new OptionsError(error.messages.map((message) => `${source}: ${message}`));
}

/** Throws an OptionsError with all problems of the file. The caller checks the rules on the values. */
export function resolveScheduler(
  parsed: ParsedOptions<SchedulerOptionTable>,
  sources: ResolveSources,
): ResolvedScheduler {
  const { dialect, file, table } = sources;
  const settings = defaultSettings(dialect.components.defaultScheduler);
  if (file === undefined) return { options: withDeprecatedLock(parsed), settings };
  try {
    const config = decode(file.text);
    const options = overlayConfig(table, withoutIgnored(table, parsed), config);
    const idle = [...idleFields(config, file.source), ...innerPoints(config, file.source)];
    const warnings = [...options.warnings, ...idle];
    const kinds = [...pluginKinds, ...(sources.morePlugins ?? [])];
    const fileSettings = settingsOf(config, settings, dialect, kinds);
    return {
      options: { ...options, warnings },
      settings: { ...fileSettings, pluginModules: modulePaths(config, file.source) },
    };
  } catch (error) {
    throw inFile(error, file.source);
  }
}

/** Decodes the file to the names of the table's `configField`s. */
function decode(text: string): Plain {
  const file = parseConfigText(text);
  const kindsOfDialects = [orchDialect, kubernetesDialect].flatMap((dialect) =>
    configVersions(dialect).map((apiVersion) => ({ dialect, apiVersion, kind: dialect.schedulerConfig.kind })),
  );
  const fileKind = kindsOfDialects.find(
    ({ apiVersion, kind }) => file['apiVersion'] === apiVersion && file['kind'] === kind,
  );
  if (fileKind === undefined) {
    const accepted = kindsOfDialects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    const actual = `${String(file['apiVersion'])} ${String(file['kind'])}`;
    throw new OptionsError([`apiVersion and kind must be ${accepted.join(' or ')}, not ${actual}`]);
  }
  const { dialect } = fileKind;
  const errors: string[] = [];
  const decoded = decodeFields(schedulerConfigFields(dialect, isOldConfig(file)), file, errors);
  errors.push(...configErrors(decoded));
  if (errors.length > 0) throw new OptionsError(errors);
  const connection = decoded['clientConnection'];
  if (!isPlain(connection)) return decoded;
  const { [clientConfigField(dialect)]: path, ...rest } = connection;
  const own = clientConfigField(orchDialect);
  return { ...decoded, clientConnection: path === undefined ? rest : { ...rest, [own]: path } };
}

/** The options without those that a file overrides. */
function withoutIgnored(
  table: OptionTable,
  parsed: ParsedOptions<SchedulerOptionTable>,
): ParsedOptions<SchedulerOptionTable> {
  const values: Record<string, unknown> = { ...parsed.values };
  const setOptions = new Set(parsed.given);
  const warnings = [...parsed.warnings];
  for (const name of ignoredWithConfig) {
    if (!setOptions.delete(name)) continue;
    const declaration = table[name];
    if (declaration !== undefined) values[name] = defaultValue(declaration);
    warnings.push(`Flag --${name} is ignored: --config is given`);
  }
  return { ...parsed, values: deepFreeze(values) as typeof parsed.values, given: setOptions, warnings };
}

/** Without a file, the old lock options still apply unless the new ones are set. */
function withDeprecatedLock(parsed: ParsedOptions<SchedulerOptionTable>): ParsedOptions<SchedulerOptionTable> {
  const values: Record<string, unknown> = { ...parsed.values };
  for (const part of ['name', 'namespace'] as const) {
    const current = `leader-elect-resource-${part}` as const;
    if (parsed.given.has(`lock-object-${part}`) && !parsed.given.has(current)) {
      values[current] = parsed.values[`lock-object-${part}`];
    }
  }
  return { ...parsed, values: deepFreeze(values) as typeof parsed.values };
}

/** Throws an OptionsError with the problems of the profiles. */
function settingsOf(
  config: Plain,
  defaults: SchedulerSettings,
  dialect: Dialect,
  kinds: readonly PluginKind[],
): SchedulerSettings {
  const number = (name: string, otherwise: number, scale: number) =>
    typeof config[name] === 'number' ? config[name] * scale : otherwise;
  const weights = isOldConfig(config) ? { defaults: oldDefaultPlugins } : {};
  const errors: string[] = [];
  const profiles = profilesOf(config, dialect.components.defaultScheduler, kinds, errors);
  if (errors.length > 0) throw new OptionsError(errors);
  return {
    ...defaults,
    profiles: (profiles.length === 0 ? defaults.profiles : profiles).map((profile) => ({ ...profile, ...weights })),
    percentageOfNodesToScore: number('percentageOfNodesToScore', defaults.percentageOfNodesToScore, 1),
    extenders: extendersOf(config),
    podInitialBackoffMs: number('podInitialBackoffSeconds', defaults.podInitialBackoffMs, 1000),
    podMaxBackoffMs: number('podMaxBackoffSeconds', defaults.podMaxBackoffMs, 1000),
  };
}

/** Warnings for supported fields without effect, each with the reason. */
function idleFields(config: Plain, source: string): string[] {
  const connection = isPlain(config['clientConnection']) ? config['clientConnection'] : {};
  const warning = (field: string, why: string) => [`${source}: field ${field} has no effect: ${why}`];
  return [
    ...(config['parallelism'] === undefined ? [] : warning('parallelism', 'one thread decides, node after node')),
    ...(config['enableContentionProfiling'] === true
      ? warning('enableContentionProfiling', debuggingOptions['contention-profiling'].inert)
      : []),
    ...((connection['acceptContentTypes'] ?? '') === ''
      ? []
      : warning('clientConnection.acceptContentTypes', 'the client accepts what contentType says, and JSON')),
  ];
}

/** Warnings for points that are always part of another point. */
function innerPoints(config: Plain, source: string): string[] {
  const withPoint = { preFilter: 'filter', preScore: 'score' };
  const profiles = Array.isArray(config['profiles']) ? config['profiles'].filter(isPlain) : [];
  return profiles.flatMap(({ plugins }, i) =>
    Object.entries(withPoint)
      .filter(([point]) => isPlain(plugins) && plugins[point] !== undefined)
      .map(
        ([point, outer]) => `${source}: field profiles[${i}].plugins.${point} has no effect: it comes with ${outer}`,
      ),
  );
}

const points = [...pluginPoints, 'multiPoint'] as const;

/**
 * The profiles of the configuration file. `config` has been decoded by the field table; `kinds`: the available plugins.
 * Adds problems to `errors`, each with its field path.
 */
function profilesOf(
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
  const pluginNames = new Set(kinds.map(({ name }) => name));
  if (!isPlain(plugins)) return {};
  const sets: Partial<Record<(typeof points)[number], PluginSet>> = {};
  for (const point of points) {
    if (plugins[point] === undefined) continue;
    const enabled = listOf(plugins[point], 'enabled');
    const names = new Set<string>();
    for (const [i, { name }] of enabled.entries()) {
      const at = `${path}.${point}.enabled[${i}].name`;
      if (names.has(name)) errors.push(`${at}: Duplicate value: ${JSON.stringify(name)}`);
      else if (!pluginNames.has(name)) {
        errors.push(`${at}: Invalid value: ${JSON.stringify(name)}: does not exist`);
      }
      names.add(name);
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
