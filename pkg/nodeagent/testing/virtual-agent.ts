/** An agent under a virtual clock. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { ContainerStatus } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { newSimulatedRuntime, startAgent, testResources } from '#nodeagent/testing/agent-fixture.js';

export interface VirtualAgentOptions {
  readonly args?: readonly string[];
  readonly dependencies?: Dependencies | ((api: FakeApi, runtime: SimulatedRuntime) => Dependencies);
  readonly podCIDR?: string;
}

type Dependencies = Partial<NodeAgentDependencies>;

/** Starts and registers an agent; returns it with shorthands for pod statuses. */
export async function virtualAgent(
  t: { teardown(fn: () => unknown): void },
  { args = [], dependencies = {}, podCIDR }: VirtualAgentOptions = {},
) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: testResources });
  const runtime = newSimulatedRuntime(clock, orchDialect, podCIDR);
  const resolved = typeof dependencies === 'function' ? dependencies(api, runtime) : dependencies;
  const fixture = startAgent({ clock, api, runtime, args, dependencies: resolved });
  t.teardown(async () => {
    let isOver = false;
    const stopped = fixture.stop().finally(() => {
      isOver = true;
    });
    // The agent may be waiting for a silent runtime, which needs virtual time.
    while (!isOver) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stopped;
  });
  await clock.advanceUntil(() => api.list(leases).length > 0 && api.list(nodes)[0]?.status !== undefined);
  const status = (name: string) => api.get(pods, `default/${name}`)?.status;
  const main = (name: string): ContainerStatus | undefined => status(name)?.containerStatuses?.[0];
  const isTrue = (name: string, type: string) =>
    status(name)?.conditions?.find((c) => c.type === type)?.status === 'True';
  const reasons = (name: string) =>
    api.list(events).flatMap((e) => (e.involvedObject.name === name ? [e.reason ?? ''] : []));
  const until = (condition: () => boolean) => clock.advanceUntil(condition);
  /** Advances time, and lets streams and promises settle. */
  const pass = async (ms: number) => {
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await clock.advance(ms / 10);
    }
  };
  return { clock, api, runtime, fixture, status, main, isTrue, reasons, until, pass };
}
