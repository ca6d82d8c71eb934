/** A node agent on the fake API, for tests: with the simulated runtime, or another one. */

import { leases } from '#api/coordination/v1/resources.gen.js';
import {
  configmaps,
  events,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { csidrivers, csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { frozen } from '#client/testing/frozen.js';
import { type Logger, silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { NodeAgent } from '#nodeagent/nodeagent.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { SimulatedChecker, SimulatedMachine } from '#nodeagent/simulated/node.js';
import { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';

export interface AgentFixtureOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly dialect?: Dialect;
  readonly args?: readonly string[];
  /** Instead of `args`. */
  readonly values?: NodeAgentOptions;
  readonly runtime?: SimulatedRuntime;
  readonly api?: FakeApi;
  /** The agent's client; default: that of `api`. */
  readonly client?: Client;
  /** Replace those of the simulated runtime. */
  readonly dependencies?: Partial<NodeAgentDependencies>;
}

export interface AgentFixture {
  readonly api: FakeApi;
  readonly agent: NodeAgent;
  readonly runtime: SimulatedRuntime;
  readonly started: Promise<void>;
  stop(): Promise<void>;
}

export const nodeName = 'node-1';
export const testResources = [
  ...[nodes, pods, services, configmaps, secrets, serviceaccounts, events, leases],
  ...[persistentvolumeclaims, persistentvolumes, runtimeclasses],
  ...[csidrivers, csinodes, volumeattachments],
];

let ids = 0;

/** `podCIDR`: empty for no network until the agent sets the addresses of pods. */
export function newSimulatedRuntime(
  clock: Clock = realClock,
  dialect = orchDialect,
  podCIDR = '10.244.0.0/24',
): SimulatedRuntime {
  return new SimulatedRuntime({
    clock,
    annotationPrefix: dialect.simulationPrefix,
    podCIDR,
    newID: () => (ids++).toString(16).padStart(64, '0'),
  });
}

/** Starts an agent; call `stop` before the test ends. */
export function startAgent(options: AgentFixtureOptions = {}): AgentFixture {
  const { clock = realClock, dialect = orchDialect, log = silentLogger } = options;
  const api = options.api ?? new FakeApi({ dialect, clock, resources: testResources });
  const runtime = options.runtime ?? newSimulatedRuntime(clock, dialect);
  const values = options.values ?? valuesOf(options.args ?? [], dialect);
  const { client = api.client } = options;
  const informers = new SharedInformerFactory({ client, clock, random: () => 0.5, log, transform: frozen });
  const stop = new AbortController();
  const agent = new NodeAgent(values, {
    informers,
    clock,
    random: () => 0.5,
    log,
    cri: runtime,
    nodeName,
    machine: new SimulatedMachine({ address: '192.0.2.1' }),
    checker: new SimulatedChecker(runtime),
    logFiles: runtime.logFiles,
    simulation: runtime,
    writeFiles: false,
    ...options.dependencies,
  });
  const factory = informers.start(stop.signal);
  const started = agent.start(stop.signal);
  return {
    api,
    agent,
    runtime,
    started,
    async stop() {
      stop.abort();
      await Promise.all([started, factory]);
    },
  };
}

function valuesOf(args: readonly string[], dialect: Dialect): NodeAgentOptions {
  const parsed = parseOptions(nodeAgentOptionTable(dialect), args, { program: 'nodeagent' });
  if (parsed.kind !== 'run') throw new Error('not an option list to run with');
  return parsed.values;
}

let uids = 0;

/** A pod bound to the node; default: with one container. */
export function testPod(name: string, spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): Pod {
  const main: Container = { name: 'main', image: 'docker.io/test/app:1.0' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}-${uids++}`, annotations },
    spec: { nodeName, containers: [main], restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...spec },
    status: { phase: 'Pending' },
  };
}

/** Resolves once the condition holds; rejects after the limit, by default a minute. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what = 'the condition',
  limitMs = 60_000,
): Promise<void> {
  const deadline = realClock.monotonic() + limitMs;
  while (!(await condition())) {
    if (realClock.monotonic() > deadline) throw new Error(`${what} did not come true`);
    await realClock.sleep(5);
  }
}
