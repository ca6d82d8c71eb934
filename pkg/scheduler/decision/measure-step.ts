import type { Clock } from '#apimachinery/clock.js';
import type { CountPart } from '#scheduler/cluster/cluster.js';
import type { ExtensionPoint, PluginRecorder, PluginStatus } from '#scheduler/metrics/metrics.js';

/** Measures a plugin call. */
export type MeasureStep = <R>(
  plugin: string,
  point: ExtensionPoint,
  run: () => R,
  statusOf?: (result: R) => PluginStatus,
) => R;

/** Undefined if the decision's plugins are not measured. */
export function measureSteps(
  recorder: PluginRecorder | undefined,
  clock: Pick<Clock, 'monotonic'>,
): MeasureStep | undefined {
  if (recorder === undefined) return undefined;
  return (plugin, point, run, statusOf = () => 'Success') => {
    const started = clock.monotonic();
    const result = run();
    recorder.executed(plugin, point, statusOf(result), clock.monotonic() - started);
    return result;
  };
}

/** The plugin whose PreFilter would track the change in release 1.24; here counts are shared by all plugins. */
const readerOf = { labels: 'PodTopologySpread', terms: 'InterPodAffinity' } as const;

/** Measures pods added to and removed from nodes on trial, for those of these plugins that `filters` contain. */
export function measureExtensions(
  step: MeasureStep | undefined,
  filters: readonly { readonly plugin: string }[],
): CountPart | undefined {
  if (step === undefined) return undefined;
  const plugins = new Set(filters.map(({ plugin }) => plugin));
  return (part, by, count) => {
    const plugin = readerOf[part];
    if (!plugins.has(plugin)) return count();
    step(plugin, by === 1 ? 'PreFilterExtensionAddPod' : 'PreFilterExtensionRemovePod', count);
  };
}
