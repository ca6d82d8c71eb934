/** What bounds the work in progress: priority and fairness, or a plain limit. */
import { Gauge } from 'prom-client';
import type { EndpointParts } from '#apiserver/build/endpoints.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { AppliedConfiguration } from '#apiserver/flowcontrol/applied-configuration.js';
import { flowControlDumps } from '#apiserver/flowcontrol/dumps.js';
import { Fairness } from '#apiserver/flowcontrol/fairness.js';
import { FlowControlSeries } from '#apiserver/flowcontrol/series.js';
import { WatchTracker } from '#apiserver/flowcontrol/watch-tracker.js';
import type { RequestMetrics } from '#apiserver/http/request-metrics.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import type { FlowControl } from '#apiserver/pipeline/flow-control.js';
import { type InFlightLimits, MaxInFlight } from '#apiserver/pipeline/max-in-flight.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { ByteBudget, type ByteBudgetOptions } from '#http/server/byte-budget.js';

export interface FlowControlSetup {
  /** Fairness instead of the plain limits. */
  readonly isFair: boolean;
  readonly limits: InFlightLimits;
  readonly requestTimeoutMs: number;
  readonly storages: ResourceStorages;
  readonly metrics: RequestMetrics;
  /** Memory that all responses may hold together. */
  readonly responses: Omit<ByteBudgetOptions, 'clock' | 'refused'>;
}

export interface FlowControlParts {
  readonly flow: FlowControl;
  /** The memory of responses that no priority level bounds. */
  readonly budget: ByteBudget;
  readonly paths: NonNullable<EndpointParts['paths']>;
  /** Follows the configuration until the signal aborts. */
  start(signal: AbortSignal): Promise<void>;
}

/** A request waits at most this part of its time limit, as in 1.24. */
const waitPart = 1 / 4;
/** The part of the memory for responses that is divided among the limited levels. */
const levelsPart = 3 / 4;

export function buildFlowControl(environment: ServerEnvironment, setup: FlowControlSetup): FlowControlParts {
  return setup.isFair ? buildFairness(environment, setup) : buildLimits(environment, setup);
}

function buildLimits({ dialect, clock }: ServerEnvironment, setup: FlowControlSetup): FlowControlParts {
  const { limits, metrics, responses } = setup;
  const flow = new MaxInFlight({
    limits,
    exemptGroup: dialect.groups.masters,
    refused: (kind, { request, info }) => metrics.dropped(kind, request, info),
  });
  metrics.inFlight(() => flow.current);
  let budget: ByteBudget | undefined;
  const refused = metrics.responseMemory(() => budget);
  budget = new ByteBudget({ ...responses, clock, refused });
  return { flow, budget, paths: {}, start: () => Promise.resolve() };
}

function buildFairness(environment: ServerEnvironment, setup: FlowControlSetup): FlowControlParts {
  const { dialect, clock, turns, log, metrics: registry } = environment;
  const { limits, metrics, storages, requestTimeoutMs, responses } = setup;
  const budgets = (): ByteBudget[] => [
    ...(budget === undefined ? [] : [budget]),
    ...(configuration === undefined ? [] : [...configuration.levels].flatMap((level) => level.budget ?? [])),
  ];
  const refused = metrics.responseMemory(() => ({
    used: budgets().reduce((sum, { used }) => sum + used, 0),
    waiting: budgets().reduce((sum, { waiting }) => sum + waiting, 0),
  }));
  let configuration: AppliedConfiguration | undefined;
  let budget: ByteBudget | undefined;
  budget = new ByteBudget({ ...responses, bytes: responses.bytes * (1 - levelsPart), clock, refused });
  const series = new FlowControlSeries(registry);
  const flow = new Fairness({
    clock,
    series,
    watches: new WatchTracker(),
    stored: (group, resource) => storages.sizeOf(group, resource),
    watchStartMs: requestTimeoutMs,
    turns: turns.bulk,
    refused: (side, { request, info }) => metrics.dropped(side, request, info),
  });
  const applied = new AppliedConfiguration({
    dialect,
    clock,
    series,
    seats: limits.readOnly + limits.mutating,
    waitLimitMs: requestTimeoutMs * waitPart,
    applied: (schemas) => flow.apply(schemas),
    sample: (nowMs) => flow.sample(nowMs),
    responses: { ...responses, bytes: responses.bytes * levelsPart, refused },
  });
  configuration = applied;
  metrics.inFlight(() => flow.current);
  new Gauge({
    name: 'apiserver_current_inqueue_requests',
    help: '[ALPHA] Maximal number of queued requests in this apiserver per request kind in last second.',
    labelNames: ['request_kind'],
    registers: [registry],
    collect() {
      for (const [side, count] of Object.entries(flow.waiting)) this.set({ request_kind: side }, count);
    },
  });
  const reader = new StorageObjectReader({ storageOf: (resource) => storages.find(resource), turns, clock, log });
  return {
    flow,
    budget,
    paths: flowControlDumps({ clock, levels: () => applied.levels }),
    start: (signal) => applied.follow(reader, signal),
  };
}
