/** Plugins that are no part of the scheduler: modules that its configuration file names. */
import { pathToFileURL } from 'node:url';
import { messageOf } from '#apimachinery/errors/message.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';
import { clusterEvents } from '#scheduler/cluster/events.js';
import type { Plugin } from '#scheduler/framework/plugin.js';
import { type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

/**
 * Loads modules, each with a PluginKind as its default export. Their code runs with all rights of the scheduler.
 * @param paths Absolute paths of files.
 * Rejects with an OptionsError that names every module that cannot be used.
 */
export async function loadPluginModules(paths: readonly string[]): Promise<PluginKind[]> {
  const errors: string[] = [];
  const loaded: PluginKind[] = [];
  const names = new Set(pluginKinds.map(({ name }) => name));
  for (const [i, path] of paths.entries()) {
    try {
      const kind = kindOf(await import(pathToFileURL(path).href));
      if (names.has(kind.name)) throw new Error(`a plugin named ${JSON.stringify(kind.name)} is known already`);
      names.add(kind.name);
      loaded.push(kind);
    } catch (error) {
      errors.push(`pluginModules[${i}].path: Invalid value: ${JSON.stringify(path)}: ${messageOf(error)}`);
    }
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return loaded;
}

/** Throws with what is wrong about the module. */
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
  const given = kind as unknown as PluginKind;
  return { ...given, make: (own, dialect, context) => pluginOf(name, () => given.make(own, dialect, context)) };
}

const functions = ['reserve', 'queueSort', 'postFilter', 'permit', 'preBind', 'bind', 'postBind'] as const;

/** Throws OptionsError when what the module makes is no plugin. */
function pluginOf(name: string, make: () => Plugin): Plugin {
  const wrong = (why: string) => new OptionsError([`plugin ${JSON.stringify(name)}: ${why}`]);
  let plugin: Plugin;
  try {
    plugin = make();
  } catch (error) {
    throw wrong(`make failed: ${messageOf(error)}`);
  }
  if (typeof plugin !== 'object' || plugin === null || plugin.name !== name) {
    throw wrong('make must return a plugin of the same name');
  }
  for (const point of functions) {
    if (plugin[point] !== undefined && typeof plugin[point] !== 'function') throw wrong(`${point} must be a function`);
  }
  for (const point of ['filter', 'score'] as const) {
    const has = plugin[point];
    if (has === undefined) continue;
    if (typeof has.prepare !== 'function') throw wrong(`${point}.prepare must be a function`);
    if (typeof has.local !== 'boolean') throw wrong(`${point}.local must be true or false`);
  }
  const unknown = (plugin.events ?? []).filter((event) => !clusterEvents.includes(event));
  if (unknown.length > 0) throw wrong(`there are no events ${unknown.join(', ')}`);
  if (plugin.events !== undefined) return plugin;
  // Not a copy: the plugin may be of a class. Whatever happens could help, as long as it does not say what.
  return Object.create(plugin, { events: { value: clusterEvents, enumerable: true } }) as Plugin;
}
