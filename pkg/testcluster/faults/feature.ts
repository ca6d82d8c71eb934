/**
 * `/test/faults`: rules by which the API answers with errors, late, or not at all.
 *
 * GET shows the plan and how often each rule matched and acted; POST replaces the plan, DELETE removes it. Resource requests
 * of the suite and of operators get faults; those of the cluster's own daemons only from a rule that names their user.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { type Clock, processClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { SourceBody } from '#http/server/body.js';
import { BrokenBody } from '#http/server/broken-body.js';
import { runAction } from '#testcluster/faults/actions.js';
import { CutConnection, type CutConnectionOptions } from '#testcluster/faults/cut-connection.js';
import { FaultDecider, type FaultRequest } from '#testcluster/faults/decide.js';
import { faultError } from '#testcluster/faults/error-answers.js';
import { isOwnUser } from '#testcluster/faults/own-users.js';
import { type FaultPlan, FaultPlanError, type FaultRule, parseFaultPlan } from '#testcluster/faults/rules.js';
import { FaultyWatchBody } from '#testcluster/faults/watch-faults.js';
import type { ObservedRequest, TestClusterParts, TestEndpoint } from '#testcluster/feature/feature.js';

const noFaults = { rules: [] };

export interface FaultsFeature {
  readonly endpoints: readonly TestEndpoint[];
  readonly around: (observed: ObservedRequest, next: () => MaybePromise<ApiResponse>) => MaybePromise<ApiResponse>;
  /** How often each rule matched and acted. */
  counts(): ReturnType<FaultDecider['counts']>;
}

/** A part of the feature of faults and report. */
export function faults(cluster: TestClusterParts): FaultsFeature {
  const { faultPlan = noFaults } = cluster;
  let decider = new FaultDecider(parseFaultPlan(faultPlan), seededRandom);
  let source: unknown = decider.plan.rules.length === 0 ? { rules: [] } : faultPlan;
  const endpoint: TestEndpoint = {
    path: '/test/faults',
    methods: ['GET', 'POST', 'DELETE'],
    async handle({ method, body }) {
      if (method !== 'GET') {
        const given = method === 'POST' ? body : { rules: [] };
        decider = new FaultDecider(planOf(given), seededRandom);
        source = given;
      }
      return { plan: source, seed: decider.plan.seed, rules: decider.counts() };
    },
  };
  const actions: TestEndpoint = {
    path: '/test/actions',
    methods: ['POST'],
    handle: ({ body, signal }) => runAction(body, cluster, signal),
  };
  return {
    endpoints: [endpoint, actions],
    counts: () => decider.counts(),
    around(observed, next) {
      if (decider.plan.rules.length === 0 || !observed.info.resourceRequest) return next();
      const rule = decider.decide(requestOf(observed, cluster.dialect));
      return rule === undefined ? next() : inject(rule, { observed, next, clock: processClock(cluster.clock) });
    },
  };
}

/** Throws 400. */
function planOf(given: unknown): FaultPlan {
  try {
    return parseFaultPlan(given);
  } catch (error) {
    if (!(error instanceof FaultPlanError)) throw error;
    throw badRequest(`the plan of faults is invalid: ${error.message}`, error);
  }
}

function requestOf({ info, user, request, connection }: ObservedRequest, dialect: Dialect): FaultRequest {
  const { verb, group, resource, subresource, namespace, name } = info;
  return {
    ...{ verb, group, resource, subresource, namespace, name },
    user: user.name,
    userAgent: request.headers['user-agent'] ?? '',
    isUpgrade: connection !== undefined,
    isOwn: isOwnUser(user.name, dialect),
  };
}

interface Injection {
  readonly observed: ObservedRequest;
  readonly next: () => MaybePromise<ApiResponse>;
  readonly clock: Clock;
}

async function inject({ latencyMs, effect }: FaultRule, { observed, next, clock }: Injection): Promise<ApiResponse> {
  const { info, signal } = observed;
  // Like the time limits of requests, which a clock that stands still would let pass.
  if (latencyMs > 0) await processClock(clock).sleep(latencyMs, signal);
  switch (effect.kind) {
    case 'latency':
      return next();
    case 'answer':
      // Errors of the request itself go first.
      if (effect.applied) {
        const { status } = await next();
        // Its answer is on the connection already.
        if (status === switched) return cut(observed);
      }
      throw faultError(effect, info);
    case 'reset':
      if (effect.applied) {
        const { status } = await next();
        if (status === switched) return cut(observed);
      }
      return { status: 200, headers: {}, body: new BrokenBody() };
    case 'stream':
      cutLater(observed, { bytes: effect.cutAfterBytes, ms: effect.cutAfterMs, clock });
      return next();
    case 'watch': {
      // Over WebSocket.
      if (observed.connection !== undefined && effect.cutAfterMs !== undefined)
        cutLater(observed, { bytes: undefined, ms: effect.cutAfterMs, clock });
      const response = await next();
      const { body, headers } = response;
      if (!(body instanceof SourceBody)) return response;
      const format = headers['content-type']?.includes('protobuf') === true ? 'protobuf' : 'json';
      return { ...response, body: new FaultyWatchBody(body, { faults: effect, format, clock }) };
    }
  }
}

/** The status of a response that is on the upgraded connection already. */
const switched = 101;

function cut({ connection }: ObservedRequest): ApiResponse {
  connection?.destroy();
  return { status: switched, headers: {}, body: undefined };
}

function cutLater(observed: ObservedRequest, options: CutConnectionOptions): void {
  if (observed.connection !== undefined) observed.connection = new CutConnection(observed.connection, options);
}
