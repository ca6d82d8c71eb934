/** Builds the managers of CPUs and memory, and reads their checkpoints. */
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { addQuantities, milliValue, quantityFromValue, quantitySign } from '#apimachinery/quantity.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { OptionsError } from '#daemon/options/option.js';
import { CheckpointFile, diskCheckpoints, noCheckpoints } from '#nodeagent/allocation/checkpoint/checkpoint-file.js';
import { type ContainerRef, cpuCheckpoint, readCPUCheckpoint } from '#nodeagent/allocation/cpus/cpu-checkpoint.js';
import { CPUManager } from '#nodeagent/allocation/cpus/cpu-manager.js';
import { formatCPUs, isSubset, parseCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';
import { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import { staticPolicyOptions } from '#nodeagent/allocation/cpus/policy-settings.js';
import { StaticCPUPolicy } from '#nodeagent/allocation/cpus/static-policy.js';
import { memoryCheckpoint, readMemoryCheckpoint } from '#nodeagent/allocation/memory/memory-checkpoint.js';
import { MemoryManager } from '#nodeagent/allocation/memory/memory-manager.js';
import { MemoryState } from '#nodeagent/allocation/memory/memory-state.js';
import { parseReservation, reservedMemory } from '#nodeagent/allocation/memory/reserved-memory.js';
import { StaticMemoryPolicy } from '#nodeagent/allocation/memory/static-memory-policy.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { thresholdAmount } from '#nodeagent/pressure/thresholds.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface ManagersInput {
  readonly machine: Machine;
  readonly labels: RuntimeLabels;
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  /** What the runtime has of the pod with that UID. */
  readonly runtime: (uid: string) => PodRuntime | undefined;
}

export interface ManagersDependencies extends Pick<NodeAgentDependencies, 'clock' | 'log' | 'cri' | 'writeFiles'> {
  readonly dialect: Dialect;
}

/** Default of 1.24, which polls without a pause if it is 0. */
const defaultPeriodMs = 10_000;

/**
 * `--reserved-cpus` replaces the CPUs of the other reservations. Throws OptionsError if the machine does not have them.
 */
export async function withReservedCPUs(values: NodeAgentOptions, machine: Machine): Promise<NodeAgentOptions> {
  const text = values['reserved-cpus'] ?? '';
  if (text === '') return values;
  const { cpus } = await failingAs('unable to discover CPU topology info', async () => cpuTopology(machine));
  const reserved = parseCPUs(text);
  if (!isSubset(reserved, cpus)) {
    throw new OptionsError([`reserved-cpus: ${text} is not a subset of online-cpus: ${formatCPUs(cpus)}`]);
  }
  const { cpu: _, ...platform } = values['orch-reserved'];
  return {
    ...values,
    'system-reserved': { ...values['system-reserved'], cpu: String(reserved.size) },
    'orch-reserved': platform,
  };
}

/** Undefined if no CPUs are assigned. Also with the policy `none`, a checkpoint exists, as in 1.24. */
export async function newCPUManager(
  values: NodeAgentOptions,
  deps: ManagersDependencies,
  input: ManagersInput,
): Promise<CPUManager | undefined> {
  const gates = new FeatureGates(values['feature-gates']);
  if (!gates.enabled('CPUManager')) return undefined;
  const policyName = values['cpu-manager-policy'];
  const file = checkpointFile(values, deps, 'cpu_manager_state');
  const policy = policyName === 'static' ? await newStaticCPUPolicy(values, input.machine) : undefined;
  const options = values['cpu-manager-policy-options'];
  if (policy === undefined && Object.keys(options).length > 0) {
    const shown = Object.entries(options).map(([name, value]) => `${name}:${value}`);
    const problem = `received unsupported options=map[${shown.sort().join(' ')}]`;
    throw new OptionsError([`new none policy error: None policy: ${problem}`]);
  }
  return failingAs('start cpu manager error', async () => {
    const state = await restored(deps.dialect, { file, manager: 'CPU manager' }, async (text) =>
      text === undefined
        ? new CPUState()
        : readCPUCheckpoint(text, policyName, () => containerRefs(deps, input.labels)),
    );
    policy?.start(state);
    await file.write(() => cpuCheckpoint(policyName, state));
    if (policy === undefined) return undefined;
    const { clock, log, cri } = deps;
    const periodMs = values['cpu-manager-reconcile-period'] || defaultPeriodMs;
    return new CPUManager({ ...input, ...{ policy, state, file, clock, log, cri, periodMs } });
  });
}

async function newStaticCPUPolicy(values: NodeAgentOptions, machine: Machine): Promise<StaticCPUPolicy> {
  const topology = await failingAs('', async () => cpuTopology(machine));
  const [system = '0', platform = '0'] = [values['system-reserved']['cpu'], values['orch-reserved']['cpu']];
  const reservedCount = Math.ceil((milliValue(system) + milliValue(platform)) / 1000);
  if (reservedCount === 0) {
    throw new OptionsError(['[cpumanager] unable to determine reserved CPU resources for static policy']);
  }
  return failingAs('new static policy error', async () => {
    const options = staticPolicyOptions(
      values['cpu-manager-policy-options'],
      new FeatureGates(values['feature-gates']),
    );
    const reservedCPUs = parseCPUs(values['reserved-cpus'] ?? '');
    return new StaticCPUPolicy({ topology, options, reservedCount, reservedCPUs });
  });
}

/** Undefined if no memory is assigned. Also with the policy `None`, a checkpoint exists, as in 1.24. */
export async function newMemoryManager(
  values: NodeAgentOptions,
  deps: ManagersDependencies,
  { machine }: ManagersInput,
): Promise<MemoryManager | undefined> {
  if (!new FeatureGates(values['feature-gates']).enabled('MemoryManager')) return undefined;
  const policyName = values['memory-manager-policy'];
  const file = checkpointFile(values, deps, 'memory_manager_state');
  const policy =
    policyName === 'Static' ? await failingAs('', () => newStaticMemoryPolicy(values, machine)) : undefined;
  return failingAs('start memory manager error', async () => {
    const state = await restored(deps.dialect, { file, manager: 'memory manager' }, async (text) =>
      text === undefined ? new MemoryState() : readMemoryCheckpoint(text, policyName),
    );
    policy?.start(state);
    await file.write(() => memoryCheckpoint(policyName, state));
    return policy && new MemoryManager({ policy, state, file, log: deps.log });
  });
}

async function newStaticMemoryPolicy(values: NodeAgentOptions, machine: Machine): Promise<StaticMemoryPolicy> {
  const [topology, facts] = await Promise.all([machine.topology(), machine.facts()]);
  const { thresholds } = parseEvictionThresholds(values['eviction-hard']);
  const threshold = values['experimental-allocatable-ignore-eviction'] ? undefined : thresholds['memory.available'];
  const kept = [
    values['system-reserved']['memory'] ?? '0',
    values['orch-reserved']['memory'] ?? '0',
    quantityFromValue(thresholdAmount(threshold, facts.memoryBytes), 'BinarySI'),
  ].reduce(addQuantities, '0');
  const reserved = reservedMemory({
    reservations: values['reserved-memory'].map(parseReservation),
    nodes: topology.nodes.map(({ id }) => id),
    total: new Map(quantitySign(kept) === 0 ? [] : [['memory', kept]]),
  });
  return new StaticMemoryPolicy(topology, reserved);
}

async function cpuTopology(machine: Machine): Promise<CPUTopology> {
  return new CPUTopology(await machine.topology());
}

function checkpointFile(values: NodeAgentOptions, deps: ManagersDependencies, name: string): CheckpointFile {
  const files = deps.writeFiles === false ? noCheckpoints : diskCheckpoints;
  return new CheckpointFile(join(values['root-dir'], name), { files, log: deps.log });
}

interface CheckpointOwner {
  readonly file: CheckpointFile;
  /** In the message of a failure. */
  readonly manager: string;
}

/** Reads a checkpoint. Its failure says what to do, in the words of 1.24. */
async function restored<T>(
  dialect: Dialect,
  { file, manager }: CheckpointOwner,
  parse: (text: string | undefined) => Promise<T>,
): Promise<T> {
  try {
    return await parse(await file.read());
  } catch (error) {
    const agent = dialect.nodeAgentIdentifier;
    const remedy = `please drain this node and delete the ${manager} checkpoint file ${quoted(file.path)}`;
    const restart = `before restarting ${agent.charAt(0).toUpperCase()}${agent.slice(1)}`;
    const problem = `could not restore state from checkpoint: ${messageOf(error)}`;
    throw new Error(`${problem}, ${remedy} ${restart}`, { cause: error });
  }
}

/** The runtime's containers by ID. */
async function containerRefs(
  { cri }: ManagersDependencies,
  labels: RuntimeLabels,
): Promise<ReadonlyMap<string, ContainerRef>> {
  const containers = await cri.listContainers();
  return new Map(
    containers.map(({ id, metadata, labels: own }) => [id, { uid: own[labels.podUID] ?? '', name: metadata.name }]),
  );
}

/** Turns every failure into an OptionsError, since the agent cannot start with these options. */
async function failingAs<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new OptionsError([what === '' ? messageOf(error) : `${what}: ${messageOf(error)}`]);
  }
}
