/** Builds the part that registers plugins: those of devices and of volumes. */
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { PluginManager } from '#nodeagent/plugins/plugin-manager.js';
import { observePlugins } from '#nodeagent/plugins/plugin-metrics.js';

/** Handlers are added to the result before it runs. Undefined on nodes without files, which have no sockets. */
export function newPlugins(
  values: NodeAgentOptions,
  { clock, log, writeFiles }: NodeAgentDependencies,
  registry: Registry,
): PluginManager | undefined {
  if (writeFiles === false) return undefined;
  const plugins = new PluginManager({ clock, log, directory: join(values['root-dir'], 'plugins_registry') });
  observePlugins(registry, plugins);
  return plugins;
}
