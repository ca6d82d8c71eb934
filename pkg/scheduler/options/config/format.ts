/** Writes the effective configuration as a configuration file, for `--write-config-to`. */
import { encodeYAML } from '#apimachinery/codec/yaml.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import { formatDuration } from '#apimachinery/duration.js';
import { extenderConfig } from '#scheduler/options/config/extenders.js';
import { clientConfigField } from '#scheduler/options/config/fields.js';
import type { SchedulerSettings } from '#scheduler/options/config/settings.js';
import type { SchedulerOptionValues } from '#scheduler/options/options.js';
import { defaultPlugins, type ProfileSettings } from '#scheduler/plugins/profiles.js';

/** The effective configuration as an object. `secrets`: include keys and passwords, which `/configz` hides. */
export function schedulerConfig(
  values: SchedulerOptionValues,
  settings: SchedulerSettings,
  dialect: Dialect,
  { secrets }: { readonly secrets: boolean } = { secrets: false },
): Readonly<Record<string, unknown>> {
  const modules = settings.pluginModules.map((path) => ({ path }));
  // Only files of our own dialect can name modules; schedulers of every dialect read such files.
  const fileDialect = modules.length === 0 ? dialect : orchDialect;
  return {
    ...fileDialect.schedulerConfig,
    clientConnection: {
      acceptContentTypes: '',
      burst: values['orch-api-burst'],
      contentType: values['orch-api-content-type'],
      [clientConfigField(fileDialect)]: values.orchconfig ?? '',
      qps: values['orch-api-qps'],
    },
    ...(settings.extenders.length === 0
      ? {}
      : { extenders: settings.extenders.map((extender) => extenderConfig(extender, secrets)) }),
    enableContentionProfiling: values['contention-profiling'],
    enableProfiling: values.profiling,
    leaderElection: {
      leaderElect: values['leader-elect'],
      leaseDuration: formatDuration(values['leader-elect-lease-duration']),
      renewDeadline: formatDuration(values['leader-elect-renew-deadline']),
      resourceLock: values['leader-elect-resource-lock'],
      resourceName: values['leader-elect-resource-name'],
      resourceNamespace: values['leader-elect-resource-namespace'],
      retryPeriod: formatDuration(values['leader-elect-retry-period']),
    },
    percentageOfNodesToScore: settings.percentageOfNodesToScore,
    ...(modules.length === 0 ? {} : { pluginModules: modules }),
    podInitialBackoffSeconds: settings.podInitialBackoffMs / 1000,
    podMaxBackoffSeconds: settings.podMaxBackoffMs / 1000,
    profiles: settings.profiles.map(profileConfig),
  };
}

function profileConfig({ args, defaults = defaultPlugins, schedulerName, sets }: ProfileSettings) {
  const byDefault = { enabled: defaults, disabled: [] };
  const plugins = Object.entries({ multiPoint: byDefault, ...sets }).map(([point, { disabled, enabled }]) => [
    point,
    { enabled, disabled: disabled.map((name) => ({ name })) },
  ]);
  return {
    pluginConfig: Object.entries(args).map(([name, own]) => ({ name, args: own })),
    plugins: Object.fromEntries(plugins),
    schedulerName,
  };
}

export function formatSchedulerConfig(
  values: SchedulerOptionValues,
  settings: SchedulerSettings,
  dialect: Dialect,
): string {
  return encodeYAML(schedulerConfig(values, settings, dialect, { secrets: true })).toString();
}
