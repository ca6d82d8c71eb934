/** Loads plugins from modules that the configuration file names. */
import { pathToFileURL } from 'node:url';
import { messageOf } from '#apimachinery/errors/message.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';
import { clusterEvents } from '#scheduler/cluster/events.js';
import type { Plugin } from '#scheduler/framework/plugin.js';
import { type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

/**
 * Loads modules, each with a PluginKind as default export. Their code runs with all rights of the scheduler.
 * @param paths Absolute paths of files.
 * Rejects with an OptionsError that names each invalid module.
 */
export async function loadPluginModules(paths: readonly string[]): Promise<PluginKind[]> {
  const errors: string[] = [];
  const loaded: PluginKind[] = [];
  const names = new Set(pluginKinds.map(({ name }) => name));
  for (const [i, path] of paths.entries()) {
    try {
      const kind = kindOf(await import(pathToFileURL(path).href));
      if (names.has(kind.name)) throw new Error(`a plugin named ${JSON.stringify(kind.name)} already exists`);
      names.add(kind.name);
      loaded.push(kind);
    } catch (error) {
      errors.push(`pluginModules[${i}].path: Invalid value: ${JSON.stringify(path)}: ${messageOf(error)}`);
    }
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return loaded;
}

/** Throws an Error with the module's problem. */
function kindOf(module: unknown): PluginKind {
  const kind = isPlain(module) || typeof module === 'object' ? (module as Plain | null)?.['default'] : undefined;
  if (!isPlain(kind)) throw new Error('its default export must be an object with name and make');
  const { args, errors, make, name, weight } = kind;
  if (typeof name !== 'string' || !/^[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$/.test(name)) {
    throw new Error('its name must be up to 63 letters, digits, dots, dashes or underscores');
  }
  if (typeof make !== 'function') throw new Error('make must be a function');
  if (args !== undefined && !isPlain(args)) throw new Error('args must be a table of fields');
  if (errors !== undefined && typeof errors !== 'function') throw new Error('errors must be a function');
  if (weight !== undefined && !Number.isSafeInteger(weight)) throw new Error('weight must be an integer');
  const kindOfModule = kind as unknown as PluginKind;
  return {
    ...kindOfModule,
    make: (own, dialect, context) => pluginOf(name, () => kindOfModule.make(own, dialect, context)),
  };
}

const functions = ['reserve', 'queueSort', 'postFilter', 'permit', 'preBind', 'bind', 'postBind'] as const;

/** Throws an OptionsError if the module does not create a valid plugin. */
function pluginOf(name: string, make: () => Plugin): Plugin {
  const invalid = (why: string) => new OptionsError([`plugin ${JSON.stringify(name)}: ${why}`]);
  let plugin: Plugin;
  try {
    plugin = make();
  } catch (error) {
    throw invalid(`make failed: ${messageOf(error)}`);
  }
  if (typeof plugin !== 'object' || plugin === null || plugin.name !== name) {
    throw invalid('make must return a plugin of the same name');
  }
  for (const point of functions) {
    if (plugin[point] !== undefined && typeof plugin[point] !== 'function')
      throw invalid(`${point} must be a function`);
  }
  for (const point of ['filter', 'score'] as const) {
    const value = plugin[point];
    if (value === undefined) continue;
    if (typeof value.prepare !== 'function') throw invalid(`${point}.prepare must be a function`);
    if (typeof value.local !== 'boolean') throw invalid(`${point}.local must be true or false`);
  }
  const unknown = (plugin.events ?? []).filter((event) => !clusterEvents.includes(event));
  if (unknown.length > 0) throw invalid(`unknown events: ${unknown.join(', ')}`);
  if (plugin.events !== undefined) return plugin;
  // Inherit, since the plugin may be a class instance. Without own events, every event triggers a retry.
  return Object.create(plugin, { events: { value: clusterEvents, enumerable: true } }) as Plugin;
}
