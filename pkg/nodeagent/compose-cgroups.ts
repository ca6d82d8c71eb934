/** Puts together what makes cgroups and keeps their limits. */
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { Machine, MachineFacts } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { diskCgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import { allocatableLimits, type Capacity } from '#nodeagent/resources/cgroup-plan.js';
import { CgroupTree, cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { CPUQuota, NodeResourceFacts } from '#nodeagent/resources/container-resources.js';
import { NodeCgroups, type ReservedCgroup } from '#nodeagent/resources/node-cgroups.js';

export interface CgroupsInput {
  readonly machine: Machine;
  readonly facts: MachineFacts;
  readonly nodeEvents: NodeEvents;
  /** Those that have not ended. */
  readonly activePods: () => readonly Pod[];
}

export interface CgroupParts {
  /** Absent where pods have none. */
  readonly cgroups?: PodCgroups;
  /** Absent where pods have none. */
  readonly nodeCgroups?: NodeCgroups;
}

export async function composeCgroups(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  { machine, facts, nodeEvents, activePods }: CgroupsInput,
): Promise<CgroupParts> {
  if (deps.writeFiles === false || !values['cgroups-per-qos']) return {};
  const { clock, log, informers } = deps;
  const { dialect } = informers.client;
  const version = await cgroupVersion();
  const files = diskCgroupFiles;
  const tree = new CgroupTree({
    ...{ files, clock, version },
    mountPoint: cgroupMountPoint,
    pageSizes: pageSizesOf(facts),
  });
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
    onRefused: (refused, error) => log.warn({ err: error, path: refused }, 'a cgroup could not be set up as wanted'),
  });
  return { cgroups, nodeCgroups };
}

async function capacityOf(machine: Machine): Promise<Capacity> {
  const [{ cpus, memoryBytes, hugePages }, { maxProcesses }] = await Promise.all([machine.facts(), machine.state()]);
  return { cpus, memoryBytes, hugePages, pids: maxProcesses };
}

function reservedOf(values: NodeAgentOptions) {
  return [values['system-reserved'], values['orch-reserved']];
}

/** What containers are given of a node whose cgroups are of that version. */
export function resourceFacts(values: NodeAgentOptions, facts: MachineFacts, version: 1 | 2): NodeResourceFacts {
  const { memoryBytes = 0 } = allocatableLimits({ ...facts, pids: 0 }, reservedOf(values));
  return {
    memoryCapacityBytes: facts.memoryBytes,
    memoryAllocatableBytes: memoryBytes,
    quota: cpuQuota(values),
    pageSizes: pageSizesOf(facts),
    memoryQoS: isMemoryQoS(values, version),
  };
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
  return all.filter(({ name }) => enforced.includes(name));
}

/** @param share As the option takes it: `50%`. */
function reservedPercent(share: string | undefined): { readonly reservedPercent?: number } {
  return share === undefined ? {} : { reservedPercent: Number(share.replace('%', '')) };
}

export function cpuQuota(values: NodeAgentOptions): CPUQuota {
  return { enforced: values['cpu-cfs-quota'], periodMicros: values['cpu-cfs-quota-period'] * 1000 };
}
