/** Counts the plugins of the registration directory, as 1.24 names it. */
import type { Registry } from 'prom-client';
import { gauge } from '#daemon/metrics/metric.js';
import type { PluginManager } from '#nodeagent/plugins/plugin-manager.js';

export function observePlugins(registry: Registry, plugins: Pick<PluginManager, 'counts'>): void {
  gauge(registry, {
    name: 'plugin_manager_total_plugins',
    help: '[ALPHA] Number of plugins in Plugin Manager',
    labelNames: ['socket_path', 'state'],
    collect() {
      this.reset();
      const { actual, desired } = plugins.counts;
      for (const socket_path of actual) this.set({ socket_path, state: 'actual_state_of_world' }, 1);
      for (const socket_path of desired) this.set({ socket_path, state: 'desired_state_of_world' }, 1);
    },
  });
}
