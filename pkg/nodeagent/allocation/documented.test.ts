/** The configuration, the pod and the CPUs of docs/cpus.md. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { parse } from 'yaml';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { parseOptions } from '#daemon/options/parse.js';
import { machine } from '#nodeagent/allocation/testing/machines.js';
import type { LinuxContainerResources } from '#nodeagent/cri/cri.js';
import { applyConfig } from '#nodeagent/options/config/file.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { newSimulatedRuntime, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';

t.test('the configured node gives the pod the CPUs and the memory that the page tells', async (t) => {
  // Tests run compiled, below dist.
  const page = await readFile(new URL('../../../../docs/cpus.md', import.meta.url), 'utf8');
  const [config = '', manifest = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const [own, memory, shared] = ['CPUs', 'NUMA node', 'share the CPUs'].map(
    (words) => new RegExp(`${words} \`([\\d,-]+)\``).exec(page)?.[1],
  );
  const table = nodeAgentOptionTable(orchDialect);
  const parsed = parseOptions(table, ['--authorization-mode=AlwaysAllow'], { program: 'nodeagent' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  const { values } = applyConfig(table, parsed, { text: config, source: 'docs/cpus.md', dialect: orchDialect });

  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: testResources });
  const runtime = newSimulatedRuntime(clock);
  const created = new Map<string, LinuxContainerResources>();
  const topology = machine({ sockets: 2, nodesPerSocket: 1, coresPerNode: 4, threads: 2 });
  const fixture = startAgent({
    ...{ clock, api, runtime, values },
    dependencies: {
      machine: new SimulatedMachine({ address: '192.0.2.1', cpus: 16, memoryBytes: 32 * 2 ** 30, topology }),
      cri: overrideCalls(runtime, {
        createContainer(sandboxId, container, sandbox) {
          created.set(sandbox.metadata.name, container.linux.resources);
          return runtime.createContainer(sandboxId, container, sandbox);
        },
      }),
    },
  });
  t.teardown(() => fixture.stop());
  await clock.advanceUntil(() => api.list(nodes)[0]?.status !== undefined);
  const { spec } = parse(manifest) as Pod;
  api.seed(pods, testPod('fast', spec));
  await clock.advanceUntil(() => created.has('fast'));
  api.seed(pods, testPod('other'));
  await clock.advanceUntil(() => created.has('other'));
  t.match(created.get('fast'), { cpusetCpus: own, cpusetMems: memory });
  t.same(created.get('other')?.cpusetCpus, shared);
  t.same(created.get('other')?.cpusetMems, undefined, 'memory of any node');
});
