/** Builds the parts that create and limit cgroups. */
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { OptionsError } from '#daemon/options/option.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { Machine, MachineFacts } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { diskCgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import { allocatableLimits, type Capacity } from '#nodeagent/resources/cgroup-plan.js';
import type { CgroupHierarchy, CgroupVersion, SystemPaths } from '#nodeagent/resources/cgroup-settings.js';
import { CgroupTree, cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { CPUQuota, NodeResourceFacts } from '#nodeagent/resources/container-resources.js';
import { machineUnits } from '#nodeagent/resources/machine-units.js';
import { NodeCgroups, type ReservedCgroup } from '#nodeagent/resources/node-cgroups.js';
import { pathOfSlice } from '#nodeagent/resources/slices.js';
import { machineProcesses, SystemCgroups } from '#nodeagent/resources/system-cgroups.js';
import type { Units } from '#nodeagent/resources/systemd-units.js';

export interface CgroupsInput {
  readonly metrics: AgentMetrics;
  readonly machine: Machine;
  /** Already prepared. */
  readonly registrar: Pick<NodeRegistrar, 'facts' | 'runtimeName'>;
  readonly nodeEvents: NodeEvents;
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
}

export interface CgroupParts {
  /** Absent if pods have no cgroups. */
  readonly cgroups?: PodCgroups;
  /** Absent if pods have no cgroups. */
  readonly nodeCgroups?: NodeCgroups;
  /** Absent if no processes are moved. */
  readonly systemCgroups?: SystemCgroups;
  /** Absent for simulated nodes. */
  readonly hierarchy?: CgroupHierarchy;
  readonly systemPaths?: SystemPaths;
}

/** Throws OptionsError if this machine does not support the options. */
export async function composeCgroups(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  { machine, registrar, metrics, nodeEvents, activePods }: CgroupsInput,
): Promise<CgroupParts> {
  const { clock, log, informers } = deps;
  if (deps.writeFiles === false) {
    for (const name of ['nodeagent-cgroups', 'system-cgroups', 'runtime-cgroups'] as const)
      if ((values[name] ?? '') !== '')
        log.warn({ option: name }, 'option has no effect: a simulated node has no cgroups');
    return {};
  }
  const { dialect } = informers.client;
  const version = await cgroupVersion();
  const { facts, runtimeName } = registrar;
  const shared = {
    files: diskCgroupFiles,
    clock,
    version,
    mountPoint: cgroupMountPoint,
    pageSizes: pageSizesOf(facts),
  };
  if (version === 1 && new FeatureGates(values['feature-gates']).enabled('MemoryQoS'))
    log.warn('feature gate MemoryQoS has no effect: it needs cgroup version 2, and this machine has version 1');
  const machineParts = {
    hierarchy: { mountPoint: cgroupMountPoint, version },
    systemPaths: systemPathsOf(values),
    ...newSystemCgroups(values, deps, new CgroupTree(shared)),
  };
  if (!values['cgroups-per-qos']) return machineParts;
  const usesSystemd = values['cgroup-driver'] === 'systemd';
  const tree = new CgroupTree({ ...shared, ...(usesSystemd ? { units: await newUnits(version) } : {}) });
  const root = join('/', values['cgroup-root']);
  const path = join(root, `${dialect.shortName}pods`);
  const memoryQoS = isMemoryQoS(values, version);
  const nodeCgroups = new NodeCgroups({
    ...{ tree, clock, log, root, path, memoryQoS },
    events: nodeEvents,
    capacity: () => capacityOf(machine),
    reserved: values['enforce-node-allocatable'].includes('pods') ? reservedOf(values) : [],
    enforced: enforcedCgroups(values, dialect),
    pods: activePods,
    ...reservedPercent(values['qos-reserved']['memory']),
  });
  const cgroups = new PodCgroups({
    ...{ tree, path, memoryQoS },
    quota: cpuQuota(values),
    pidsLimit: values['pod-max-pids'],
    onChange: () => nodeCgroups.update(),
    onOperation: (operation, ms) => metrics.cgroupSeconds.labels(operation).observe(ms / 1000),
    clock,
    onRejected: (cgroup, error) => log.warn({ err: error, path: cgroup }, 'setting up a cgroup failed'),
    ...(usesSystemd ? { scopePrefix: scopePrefixes[runtimeName] ?? runtimeName } : {}),
  });
  return { ...machineParts, cgroups, nodeCgroups };
}

/** Prefixes of runtimes' scopes, by runtime name, if they differ from it. */
const scopePrefixes: Readonly<Record<string, string>> = { containerd: 'cri-containerd', 'cri-o': 'crio' };

/** As in 1.24, fails if systemd is to manage cgroups and does not run. Throws OptionsError. */
async function newUnits(version: CgroupVersion): Promise<Units> {
  try {
    return await machineUnits(version);
  } catch (error) {
    throw new OptionsError([`--cgroup-driver=systemd: systemd cgroup manager not available: ${messageOf(error)}`]);
  }
}

/** An absolute path, or undefined for an unset option. */
function absolute(path: string | undefined): string | undefined {
  return path === undefined || path === '' ? undefined : join('/', path);
}

function systemPathsOf(values: NodeAgentOptions): SystemPaths {
  const agent = absolute(values['nodeagent-cgroups']);
  const runtime = absolute(values['runtime-cgroups']);
  const misc = absolute(values['system-cgroups']);
  return { ...(agent && { agent }), ...(runtime && { runtime }), ...(misc && { misc }) };
}

function newSystemCgroups(
  values: NodeAgentOptions,
  { clock, log }: NodeAgentDependencies,
  tree: CgroupTree,
): Pick<CgroupParts, 'systemCgroups'> {
  const { agent = '', misc: system = '' } = systemPathsOf(values);
  if (agent === '' && system === '') return {};
  return { systemCgroups: new SystemCgroups({ tree, clock, log, agent, system, processes: machineProcesses }) };
}

async function capacityOf(machine: Machine): Promise<Capacity> {
  const [{ cpus, memoryBytes, hugePages }, { maxProcesses }] = await Promise.all([machine.facts(), machine.state()]);
  return { cpus, memoryBytes, hugePages, pids: maxProcesses };
}

function reservedOf(values: NodeAgentOptions) {
  return [values['system-reserved'], values['orch-reserved']];
}

/** Resource settings of containers on a node with that cgroup version. */
export function resourceFacts(values: NodeAgentOptions, facts: MachineFacts, version: 1 | 2): NodeResourceFacts {
  const { memoryBytes = 0 } = allocatableLimits({ ...facts, pids: 0 }, reservedOf(values));
  return {
    memoryCapacityBytes: facts.memoryBytes,
    memoryAllocatableBytes: memoryBytes,
    quota: cpuQuota(values),
    pageSizes: pageSizesOf(facts),
    memoryQoS: isMemoryQoS(values, version),
    memoryThrottlingFactor: values['memory-throttling-factor'],
    ...swapOf(values),
  };
}

/** As in 1.24, the default is LimitedSwap. */
function swapOf(values: NodeAgentOptions): Pick<NodeResourceFacts, 'swap'> {
  if (!new FeatureGates(values['feature-gates']).enabled('NodeSwap')) return {};
  return { swap: values['memory-swap-behavior'] === 'UnlimitedSwap' ? 'UnlimitedSwap' : 'LimitedSwap' };
}

function pageSizesOf({ hugePages }: MachineFacts): number[] {
  return Object.keys(hugePages).map(Number);
}

function isMemoryQoS(values: NodeAgentOptions, version: 1 | 2): boolean {
  return version === 2 && new FeatureGates(values['feature-gates']).enabled('MemoryQoS');
}

function enforcedCgroups(values: NodeAgentOptions, { shortName }: Dialect): ReservedCgroup[] {
  const enforced = values['enforce-node-allocatable'];
  const title = `${shortName.slice(0, 1).toUpperCase()}${shortName.slice(1)}`;
  const all: (ReservedCgroup & { readonly name: string })[] = [
    {
      name: 'system-reserved',
      title: 'System',
      path: values['system-reserved-cgroup'],
      reserved: values['system-reserved'],
    },
    {
      name: `${shortName}-reserved`,
      title,
      path: values['orch-reserved-cgroup'],
      reserved: values['orch-reserved'],
    },
  ];
  const usesSystemd = values['cgroup-driver'] === 'systemd';
  return all
    .filter(({ name }) => enforced.includes(name))
    .map((each) => (usesSystemd ? { ...each, path: pathOfSlice(each.path) } : each));
}

/** `share`: the option's value, such as `50%`. */
function reservedPercent(share: string | undefined): { readonly reservedPercent?: number } {
  return share === undefined ? {} : { reservedPercent: Number(share.replace('%', '')) };
}

export function cpuQuota(values: NodeAgentOptions): CPUQuota {
  return { enforced: values['cpu-cfs-quota'], periodMicros: values['cpu-cfs-quota-period'] * 1000 };
}
