import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { machine } from '#nodeagent/allocation/testing/machines.js';
import { newCPUManager, newMemoryManager, withReservedCPUs } from '#nodeagent/compose-managers.js';
import type { LinuxContainerResources } from '#nodeagent/cri/cri.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { newSimulatedRuntime, testPod } from '#nodeagent/testing/agent-fixture.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const image = 'docker.io/test/app:1.0';
const amounts = (cpu: string) => ({ requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } });
const guaranteed = (name: string, cpu: string) =>
  testPod(name, { containers: [{ name: 'main', image, resources: amounts(cpu) }] });

/** An agent on eight CPUs that share no cores; tells the CPU sets of containers at their start and after updates. */
async function staticAgent(t: Test, { updateFailures = 0 } = {}) {
  const sets = new Map<string, string | undefined>();
  let failures = updateFailures;
  let tries = 0;
  const names = new Map<string, string>();
  const agent = await virtualAgent(t, {
    args: ['--cpu-manager-policy=static', '--reserved-cpus=0'],
    dependencies: (_, runtime) => ({
      machine: new SimulatedMachine({ address: '192.0.2.1', cpus: 8 }),
      cri: overrideCalls(runtime, {
        async createContainer(sandboxId, config, sandbox) {
          const id = await runtime.createContainer(sandboxId, config, sandbox);
          names.set(id, sandbox.metadata.name);
          sets.set(sandbox.metadata.name, config.linux.resources.cpusetCpus);
          return id;
        },
        async updateContainerResources(id: string, resources: LinuxContainerResources) {
          tries++;
          if (failures-- > 0) throw new Error('not now');
          t.same(Object.keys(resources), ['cpusetCpus'], 'nothing else changes');
          sets.set(names.get(id) ?? '', resources.cpusetCpus);
        },
      }),
    }),
  });
  return { ...agent, sets, tries: () => tries };
}

t.test('containers without CPUs of their own run on the rest, which changes while they run', async (t) => {
  const { api, sets, isTrue, status, until, pass, tries } = await staticAgent(t);
  api.seed(pods, testPod('shared'));
  await until(() => isTrue('shared', 'Ready'));
  t.equal(sets.get('shared'), '0-7', 'all');
  await pass(30_000);
  t.equal(tries(), 0, 'nothing is written without a change');
  api.seed(pods, guaranteed('own', '3'));
  await until(() => isTrue('own', 'Ready'));
  t.equal(sets.get('own'), '1-3');
  await until(() => sets.get('shared') === '0,4-7');
  api.seed(pods, guaranteed('late', '4'));
  await until(() => isTrue('late', 'Ready'));
  t.equal(sets.get('late'), '4-7');
  await until(() => sets.get('shared') === '0');
  // More than the node has left: the scheduler would not have bound it.
  api.seed(pods, guaranteed('refused', '1'));
  await until(() => status('refused')?.phase === 'Failed');
  t.match(status('refused'), {
    reason: 'UnexpectedAdmissionError',
    message: 'Pod Allocate failed due to not enough cpus available to satisfy request, which is unexpected',
  });
  await api.client.resource(pods).delete('own', { namespace: 'default', gracePeriodSeconds: 1 });
  await until(() => sets.get('shared') === '0-3');
  t.equal(sets.get('late'), '4-7', 'the others keep theirs');
  api.seed(pods, guaranteed('next', '2'));
  await until(() => isTrue('next', 'Ready'));
  t.equal(sets.get('next'), '1-2', 'what was freed');
});

t.test('a failed update is tried again at the next comparison', async (t) => {
  const { api, clock, sets, isTrue, until, tries } = await staticAgent(t, { updateFailures: 2 });
  api.seed(pods, testPod('shared'));
  await until(() => isTrue('shared', 'Ready'));
  api.seed(pods, guaranteed('own', '2'));
  await until(() => tries() === 1);
  const first = clock.now();
  await until(() => sets.get('shared') === '0,3-7');
  t.equal(clock.now() - first, 20_000, 'every ten seconds');
});

const eight = new SimulatedMachine({ cpus: 8, memoryBytes: 16 * 2 ** 30 });

function valuesOf(args: readonly string[], dialect: Dialect): NodeAgentOptions {
  const parsed = parseOptions(nodeAgentOptionTable(dialect), args, { program: 'nodeagent' });
  if (parsed.kind !== 'run') throw new Error('not an option list to run with');
  return parsed.values;
}

/** Builds both managers of an agent with files in that folder. */
async function start(dir: string, args: readonly string[], dialect: Dialect = orchDialect): Promise<void> {
  const clock = new VirtualClock();
  const cri = newSimulatedRuntime(clock, dialect);
  const values = await withReservedCPUs(valuesOf([`--root-dir=${dir}`, ...args], dialect), eight);
  const deps = { clock, cri, dialect, log: silentLogger };
  const input = { machine: eight, labels: new RuntimeLabels(dialect), activePods: () => [], runtime: () => undefined };
  await newCPUManager(values, deps, input);
  await newMemoryManager(values, deps, input);
}

const cpuFile = 'cpu_manager_state';
const memoryFile = 'memory_manager_state';
const staticCPUs = ['--cpu-manager-policy=static', '--system-reserved=cpu=500m', '--system-reserved=memory=1Gi'];
const staticMemory = [
  '--memory-manager-policy=Static',
  '--system-reserved=memory=1Gi',
  '--reserved-memory=0:memory=1124Mi',
];

t.test('checkpoints are those of 1.24, also without a policy', async (t) => {
  const dir = join(t.testdir({}), 'root');
  await start(dir, []);
  t.equal(await readFile(join(dir, cpuFile), 'utf8'), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  t.equal(
    await readFile(join(dir, memoryFile), 'utf8'),
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  );
  await start(dir, []);
  await rm(dir, { recursive: true });
  await start(dir, [...staticCPUs, ...staticMemory]);
  t.match(await readFile(join(dir, cpuFile), 'utf8'), '"policyName":"static","defaultCpuSet":"0-7","checksum":');
  t.match(await readFile(join(dir, memoryFile), 'utf8'), '"systemReserved":1178599424,');
  await start(dir, [...staticCPUs, ...staticMemory]);
  await rm(dir, { recursive: true });
  await start(dir, ['--feature-gates=CPUManager=false,MemoryManager=false']);
  await t.rejects(readFile(join(dir, cpuFile)), { code: 'ENOENT' }, 'without the gates there are none');
});

t.test('options and checkpoints that do not fit end the start with the words of 1.24', async (t) => {
  const none = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}';
  const dir = t.testdir({});
  const remedy = (manager: string, file: string, agent: string) =>
    `please drain this node and delete the ${manager} checkpoint file "${join(dir, file)}" before restarting ${agent}`;
  const restored = 'manager error: could not restore state from checkpoint:';
  const rows: [readonly string[], Readonly<Record<string, string>>, string, Dialect?][] = [
    [['--reserved-cpus=7-9'], {}, 'reserved-cpus: 7-9 is not a subset of online-cpus: 0-7'],
    [['--cpu-manager-policy=static'], {}, '[cpumanager] unable to determine reserved CPU resources for static policy'],
    [
      ['--cpu-manager-policy=static', '--system-reserved=cpu=9'],
      {},
      'new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 9)',
    ],
    [
      [...staticCPUs, '--cpu-manager-policy-options=other=1'],
      {},
      'new static policy error: unknown CPU Manager Policy option: "other"',
    ],
    [
      ['--cpu-manager-policy-options=full-pcpus-only=true'],
      {},
      'new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]',
    ],
    [
      staticCPUs,
      { [cpuFile]: none },
      `start cpu ${restored} configured policy "static" differs from state checkpoint policy "none", ${remedy('CPU manager', cpuFile, 'NodeAgent')}`,
    ],
    [
      [],
      { [cpuFile]: none.replace('1353318690', '1') },
      `start cpu ${restored} checkpoint is corrupted, ${remedy('CPU manager', cpuFile, 'Kubelet')}`,
      kubernetesDialect,
    ],
    [
      staticCPUs,
      { [cpuFile]: '{"policyName":"static","defaultCpuSet":"1-7","checksum":0}' },
      'start cpu manager error: not all reserved cpus: "0" are present in defaultCpuSet: "1-7"',
    ],
    [
      ['--memory-manager-policy=Static'],
      {},
      'the total amount "0" of type "memory" is not equal to the value "100Mi" determined by Node Allocatable feature',
    ],
    [
      ['--memory-manager-policy=Static', '--eviction-hard=nodefs.available<10%'],
      {},
      '[memorymanager] you should specify the system reserved memory',
    ],
    [
      ['--memory-manager-policy=Static', '--reserved-memory=3:memory=100Mi'],
      {},
      'the reserved memory configuration references a NUMA node 3 that does not exist on this machine',
    ],
    [
      staticMemory,
      { [memoryFile]: '{"policyName":"None","machineState":{},"checksum":4236770233}' },
      `start memory ${restored} [memorymanager] configured policy "Static" differs from state checkpoint policy "None", ${remedy('memory manager', memoryFile, 'NodeAgent')}`,
    ],
  ];
  for (const [args, files, message, dialect] of rows) {
    await rm(dir, { recursive: true });
    await mkdir(dir);
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
    await t.rejects(start(dir, args, dialect), { message }, message);
  }
  await rm(dir, { recursive: true });
  await start(dir, staticMemory);
  const more = ['--memory-manager-policy=Static', '--system-reserved=memory=2Gi', '--reserved-memory=0:memory=2148Mi'];
  const message =
    'start memory manager error: [memorymanager] the expected machine state is different from the real one';
  await t.rejects(start(dir, more), { message }, 'another reservation');
});

t.test('a machine with an offline processor: no CPU is given twice', async (t) => {
  const topology = machine({ sockets: 1, nodesPerSocket: 1, coresPerNode: 4, threads: 2, offline: [5] });
  const sets: (string | undefined)[] = [];
  const { api, isTrue, until } = await virtualAgent(t, {
    args: ['--cpu-manager-policy=static', '--reserved-cpus=0,4'],
    dependencies: (_, runtime) => ({
      machine: new SimulatedMachine({ address: '192.0.2.1', cpus: 7, topology }),
      cri: overrideCalls(runtime, {
        createContainer(sandboxId, config, sandbox) {
          sets.push(config.linux.resources.cpusetCpus);
          return runtime.createContainer(sandboxId, config, sandbox);
        },
      }),
    }),
  });
  api.seed(pods, guaranteed('a', '2'));
  await until(() => isTrue('a', 'Ready'));
  api.seed(pods, guaranteed('b', '3'));
  await until(() => isTrue('b', 'Ready'));
  t.same(sets, ['1-2', '3,6-7']);
});
