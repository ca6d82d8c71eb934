/** Sights of the node's object and lease, and of what the runtime is asked for. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { taintText } from '#api/core/v1/node/taints.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, NodeAddress, Pod, Taint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { value } from '#apimachinery/quantity.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { ContainerConfig, CRI, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { newSimulatedRuntime, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';
import type { Sight } from '#nodeagent/testing/effects/effect.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';

export interface SeenAgent {
  readonly api: FakeApi;
  readonly clock: VirtualClock;
  readonly runtime: CRI;
  /** Configurations of sandboxes and containers that the runtime was asked for. */
  readonly sandboxes: readonly PodSandboxConfig[];
  readonly containers: readonly ContainerConfig[];
  /** Calls of the runtime, by name. */
  readonly calls: readonly (readonly [name: string, argument: unknown])[];
}

export interface SeenAgentOptions {
  readonly podCIDR?: string;
  readonly dependencies?: (api: FakeApi, dialect: Dialect, clock: VirtualClock) => Partial<NodeAgentDependencies>;
  /** Before the start. */
  readonly prepare?: (agent: SeenAgent) => void;
}

/** Starts an agent under a virtual clock, lets `look` see it, and stops it. */
export async function withAgent<T>(
  values: NodeAgentOptions,
  dialect: Dialect,
  look: (agent: SeenAgent) => Promise<T> | T,
  { podCIDR, dependencies, prepare }: SeenAgentOptions = {},
): Promise<T> {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: testResources });
  const runtime = newSimulatedRuntime(clock, dialect, podCIDR);
  const sandboxes: PodSandboxConfig[] = [];
  const containers: ContainerConfig[] = [];
  const calls: [string, unknown][] = [];
  const cri: CRI = overrideCalls(runtime, {
    runPodSandbox: (config) => {
      sandboxes.push(config);
      return runtime.runPodSandbox(config);
    },
    createContainer: (id, config, sandbox) => {
      containers.push(config);
      return runtime.createContainer(id, config, sandbox);
    },
    updateContainerResources: (id, resources) => {
      calls.push(['updateContainerResources', resources]);
      return runtime.updateContainerResources(id, resources);
    },
    updateRuntimeConfig: (range) => {
      calls.push(['updateRuntimeConfig', range]);
      return runtime.updateRuntimeConfig(range);
    },
  });
  const agent: SeenAgent = { api, clock, runtime, sandboxes, containers, calls };
  prepare?.(agent);
  const fixture = startAgent({
    ...{ clock, api, runtime, values, dialect },
    dependencies: { cri, ...dependencies?.(api, dialect, clock) },
  });
  // An agent that cannot start fails the sight when it is stopped.
  fixture.started.catch(() => undefined);
  try {
    // A node that may not register has no lease.
    for (let second = 0; second < 20 && api.list(leases).length === 0; second++) await clock.advance(1000);
    return await look(agent);
  } finally {
    let isOver = false;
    const stopped = fixture.stop().finally(() => {
      isOver = true;
    });
    stopped.catch(() => undefined);
    while (!isOver) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stopped;
  }
}

/** What a look at a running agent tells. */
export function seen(look: (agent: SeenAgent) => Promise<unknown>, options?: SeenAgentOptions): Sight {
  return (values, dialect) => withAgent(values, dialect, look, options);
}

/** A member of the registered node; `undefined` if the node was not registered within 40 seconds. */
export function node(pick: (node: Node, dialect: Dialect) => unknown, options?: SeenAgentOptions): Sight {
  return (values, dialect) =>
    withAgent(
      values,
      dialect,
      async ({ api, clock }) => {
        for (let second = 0; second < 20 && api.list(nodes)[0]?.status?.conditions === undefined; second++)
          await clock.advance(1000);
        const [registered] = api.list(nodes);
        return registered === undefined ? undefined : pick(registered, dialect);
      },
      options,
    );
}

export function lease(pick: (lease: Lease) => unknown): Sight {
  return (values, dialect) =>
    withAgent(values, dialect, ({ api }) => {
      const [own] = api.list(leases);
      return own === undefined ? undefined : pick(own);
    });
}

/** What the runtime is asked for when a pod starts. */
export function started(
  pick: (configs: { readonly sandbox: PodSandboxConfig; readonly container: ContainerConfig }) => unknown,
  pod: () => Pod = () => testPod('web'),
  options: SeenAgentOptions = {},
): Sight {
  return (values, dialect) =>
    withAgent(
      values,
      dialect,
      async ({ clock, sandboxes, containers }) => {
        await clock.advanceUntil(() => containers.length > 0);
        const [sandbox] = sandboxes;
        const [container] = containers;
        if (sandbox === undefined || container === undefined) throw new Error('nothing was started');
        return pick({ sandbox, container });
      },
      {
        ...options,
        prepare(agent) {
          options.prepare?.(agent);
          agent.api.seed(pods, pod());
        },
      },
    );
}

/** The status that a pod gets: its phase, and the reason of its failure. */
export function podStatus(pod: () => Pod, options: SeenAgentOptions = {}): Sight {
  return (values, dialect) =>
    withAgent(
      values,
      dialect,
      async ({ api, clock }) => {
        const status = () => api.list(pods)[0]?.status;
        await clock.advanceUntil(() => (status()?.phase ?? 'Pending') !== 'Pending');
        return `${status()?.phase} ${status()?.reason ?? ''}`.trim();
      },
      {
        ...options,
        prepare({ api }) {
          api.seed(pods, pod());
        },
      },
    );
}

export const addresses = (listed: readonly NodeAddress[] = [], type: string): string[] =>
  listed.filter((each) => each.type === type).map(({ address }) => address);

export const taintTexts = (listed: readonly Taint[] = []): string => listed.map(taintText).join(' ');

export const kibibytes = (quantity = '0'): string => String(value(quantity) / 1024);

/** A pod with limits of two CPUs and a gibibyte. */
export const limitedPod = (): Pod =>
  testPod('web', {
    containers: [{ name: 'main', image: 'docker.io/test/app:1.0', resources: { limits: { cpu: '2', memory: '1Gi' } } }],
  });
