import type { Clock } from '#apimachinery/clock.js';
import { isRoom, type Reservation } from '#scheduler/framework/plugin.js';
import type { At, Profile } from '#scheduler/framework/profile.js';
import type { ExtensionPoint, PluginRecorder, PluginStatus } from '#scheduler/metrics/metrics.js';

export interface Times {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Undefined if this call is not measured. */
  readonly recorder: () => PluginRecorder | undefined;
}

/** The profile with timed calls of the plugins that run after the decision; the algorithm times the decision itself. */
export function withTimes(profile: Profile, times: Times): Profile {
  const timed = <A extends readonly unknown[], R>(
    name: ExtensionPoint,
    { plugin, point }: At<(...args: A) => R>,
    statusOf: (result: Awaited<R>) => PluginStatus = () => 'Success',
  ) => ({ plugin, point: (...args: A): R => measured(times, plugin, name, () => point(...args), statusOf) });
  return {
    ...profile,
    postFilters: profile.postFilters.map((each) =>
      typeof each.point !== 'function'
        ? each
        : timed('PostFilter', { plugin: each.plugin, point: each.point }, (result) =>
            isRoom(result) ? 'Success' : 'Unschedulable',
          ),
    ),
    reserves: profile.reserves.map((each) => {
      const { plugin, point } = timed('Reserve', each);
      return { plugin, point: (...args) => timedReservation(times, point(...args)) };
    }),
    permits: profile.permits.map((each) =>
      timed('Permit', each, (permission) => {
        if (permission === undefined) return 'Success';
        return 'reject' in permission ? 'Unschedulable' : 'Wait';
      }),
    ),
    preBinds: profile.preBinds.map((each) => timed('PreBind', each)),
    binds: profile.binds.map((each) => timed('Bind', each, (bound) => (bound ? 'Success' : 'Skip'))),
    postBinds: profile.postBinds.map((each) => timed('PostBind', each)),
  };
}

function timedReservation(times: Times, reservation: Reservation | undefined): Reservation | undefined {
  if (reservation === undefined) return undefined;
  const { plugin } = reservation;
  return {
    plugin,
    preBind: (stop) => measured(times, plugin, 'PreBind', () => reservation.preBind(stop)),
    release: () => measured(times, plugin, 'Unreserve', () => reservation.release()),
  };
}

/** Runs the call and records the time until its result settles. */
function measured<R>(
  { clock, recorder }: Times,
  plugin: string,
  point: ExtensionPoint,
  call: () => R,
  statusOf: (result: Awaited<R>) => PluginStatus = () => 'Success',
): R {
  const target = recorder();
  if (target === undefined) return call();
  const started = clock.monotonic();
  const record = (status: PluginStatus) => target.executed(plugin, point, status, clock.monotonic() - started);
  let result: R;
  try {
    result = call();
  } catch (error) {
    record('Error');
    throw error;
  }
  if (!(result instanceof Promise)) {
    record(statusOf(result as Awaited<R>));
    return result;
  }
  return result.then(
    (value: Awaited<R>) => {
      record(statusOf(value));
      return value;
    },
    (error: unknown) => {
      record('Error');
      throw error;
    },
  ) as R;
}
