/** The environment that every part of the server uses. */
import type { Registry } from 'prom-client';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { buildEgress } from '#apiserver/build/egress.js';
import type { EgressSelector } from '#apiserver/egress/selector.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

export type BeginWork = (description: string) => () => void;

export interface ServerEnvironment {
  readonly dialect: Dialect;
  /** Timers of the process; dates of the cluster, if its clock is another one. */
  readonly clock: Clock;
  /** The cluster's own time, for what lasts in it: leases, measurements that controllers compare. Absent: `clock`. */
  readonly clusterClock?: Clock;
  /** One queue for all long work of this server, its storages included. */
  readonly turns: TurnQueue;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID: () => string;
  /** Called when work begins that no request waits for; it calls the returned function at its end. Absent: nothing counts it. */
  readonly beginWork?: BeginWork | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Absent: every connection is direct. */
  readonly egress?: EgressSelector | undefined;
}

/** Throws OptionsError. */
export async function buildEnvironment(
  values: ApiServerValues,
  outer: Omit<ServerEnvironment, 'turns' | 'tracer' | 'egress'>,
): Promise<ServerEnvironment> {
  const { dialect, clock, clusterClock = clock, beginWork, log, metrics, random, newUID } = outer;
  const turns = new TurnQueue({ clock, defer: setImmediate });
  const tracer = await buildTracer(values, outer);
  const egress = await buildEgress(values['egress-selector-config-file'], { clock, random, metrics });
  return { dialect, clock, clusterClock, beginWork, turns, log, metrics, random, newUID, tracer, egress };
}

/** Undefined without the option and while the feature gate is off, as in release 1.24. */
async function buildTracer(
  values: ApiServerValues,
  { dialect, log, metrics }: Pick<ServerEnvironment, 'dialect' | 'log' | 'metrics'>,
): Promise<Tracer | undefined> {
  const path = values['tracing-config-file'] ?? '';
  if (path !== '' && !new FeatureGates(values['feature-gates']).enabled('APIServerTracing')) {
    log.warn('--tracing-config-file has no effect without --feature-gates=APIServerTracing=true');
    return undefined;
  }
  return openTracer(path, { dialect, service: dialect.components.apiServer, log, metrics });
}
