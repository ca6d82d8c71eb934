import type { Clock } from '#apimachinery/clock.js';
import type { ExtensionPoint, PluginRecorder, PluginStatus } from '#scheduler/metrics/metrics.js';

/** Takes the time of a plugin's call. */
export type MeasureStep = <R>(
  plugin: string,
  point: ExtensionPoint,
  run: () => R,
  statusOf?: (result: R) => PluginStatus,
) => R;

/** Undefined for decisions whose plugins are not measured. */
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
