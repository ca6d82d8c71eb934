/** Sights of what the agent does again and again, and of what it asks the runtime for. */
import { Registry } from 'prom-client';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { emptyInformers } from '#client/informer/empty-informers.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { composeCgroups, resourceFacts } from '#nodeagent/compose-cgroups.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import { NodeEvents } from '#nodeagent/node/node-events.js';
import { containerResources } from '#nodeagent/resources/container-resources.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { newSimulatedRuntime, testPod } from '#nodeagent/testing/agent-fixture.js';
import type { Sight } from '#nodeagent/testing/effects/effect.js';
import { withAgent } from '#nodeagent/testing/effects/node-sights.js';

/** How many heartbeats the status of the node gets within two minutes. */
export const heartbeats: Sight = (values, dialect) =>
  withAgent(values, dialect, async ({ api, clock }) => {
    const seen = new Set<string>();
    await clock.advance(5000);
    for (let second = 0; second < 120; second++) {
      await clock.advance(1000);
      const beat = api.list(nodes)[0]?.status?.conditions?.[0]?.lastHeartbeatTime;
      if (beat !== undefined) seen.add(beat);
    }
    return seen.size;
  });

/** The ranges of pod addresses that the runtime is told. */
export const podRanges: Sight = (values, dialect) =>
  withAgent(values, dialect, async ({ calls, clock }) => {
    await clock.advance(5000);
    return calls.filter(([name]) => name === 'updateRuntimeConfig').map(([, range]) => range);
  });

/** How many images the node reports when pods of three images run. */
export const reportedImages: Sight = (values, dialect) =>
  withAgent(
    values,
    dialect,
    async ({ api, clock }) => {
      await clock.advanceUntil(() => api.list(pods).every(({ status }) => status?.phase === 'Running'));
      await clock.advance(400_000);
      return api.list(nodes)[0]?.status?.images?.length;
    },
    {
      prepare({ api }) {
        for (const name of ['a', 'b', 'c']) {
          api.seed(pods, testPod(name, { containers: [{ name: 'main', image: `docker.io/test/${name}:1` }] }));
        }
      },
    },
  );

/** `memory.high` of a container with a limit of 1000 bytes, on a machine with cgroup version 2. */
export const throttledAt: Sight = async (values) => {
  const container = { name: 'main', image: 'a', resources: { limits: { memory: '1000' } } };
  const facts = resourceFacts(values, await new SimulatedMachine().facts(), 2);
  return containerResources(testPod('a', { containers: [container] }), container, facts).unified?.['memory.high'];
};

/** Whether pods have cgroups. */
export const hasPodCgroups: Sight = async (values, dialect) => {
  const clock = new VirtualClock();
  const machine = new SimulatedMachine();
  const deps = {
    ...{ clock, log: silentLogger, informers: emptyInformers(dialect), nodeName: 'node-1' },
    cri: newSimulatedRuntime(clock, dialect),
    random: () => 0.5,
  };
  const parts = await composeCgroups(values, deps, {
    machine,
    registrar: { facts: await machine.facts(), runtimeName: 'containerd' },
    metrics: new AgentMetrics(new Registry(), dialect),
    nodeEvents: new NodeEvents({ record: () => undefined }, 'node-1'),
    activePods: () => [],
  });
  return parts.cgroups !== undefined;
};
