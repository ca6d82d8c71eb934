/** Builds the parts that give devices to containers, and the service that tells what containers hold. */
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';
import type { CPUManager } from '#nodeagent/allocation/cpus/cpu-manager.js';
import type { CPUSet } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { MemoryManager } from '#nodeagent/allocation/memory/memory-manager.js';
import type { MemoryBlock } from '#nodeagent/allocation/memory/memory-state.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { allocatableDevices, heldDevices } from '#nodeagent/devices/device-listing.js';
import { DeviceManager } from '#nodeagent/devices/device-manager.js';
import { DeviceMetrics } from '#nodeagent/devices/device-metrics.js';
import { checkpointName, DevicePlugins } from '#nodeagent/devices/device-plugins.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { PodResourcesMetrics } from '#nodeagent/pod-resources/pod-resources-metrics.js';
import { PodResourcesServer } from '#nodeagent/pod-resources/pod-resources-server.js';
import type { PodManager } from '#nodeagent/pods/manager.js';

export interface DeviceParts {
  readonly devices: DeviceManager;
  readonly plugins: DevicePlugins;
}

interface DevicesInput {
  readonly registry: Registry;
  readonly machine: Machine;
  readonly isActive: (podUID: string) => boolean;
}

/** Undefined on nodes without files, or without the gate DevicePlugins. */
export async function newDevices(
  values: NodeAgentOptions,
  { informers, clock, log, writeFiles }: NodeAgentDependencies,
  { registry, machine, isActive }: DevicesInput,
): Promise<DeviceParts | undefined> {
  if (writeFiles === false || !new FeatureGates(values['feature-gates']).enabled('DevicePlugins')) return undefined;
  const { dialect } = informers.client;
  const directory = join(values['root-dir'], 'device-plugins');
  const metrics = new DeviceMetrics(registry, dialect);
  const isAligned = values['topology-manager-policy'] !== 'none';
  const devices = new DeviceManager({
    ...{ clock, log, isActive },
    checkpoint: join(directory, checkpointName),
    nodes: isAligned ? (await machine.topology()).nodes.map(({ id }) => id) : [],
    onAllocated: (resource, seconds) => metrics.allocationSeconds.labels(resource).observe(seconds),
  });
  const onRegistration = (resource: string) => metrics.registrations.labels(resource).inc();
  return { devices, plugins: new DevicePlugins({ dialect, clock, log, directory, devices, onRegistration }) };
}

interface PodResourcesInput {
  readonly registry: Registry;
  readonly manager: PodManager;
  readonly allocations: Allocations;
  readonly devices: DeviceManager | undefined;
  /** Absent unless CPUs are assigned. */
  readonly cpus?: CPUManager;
  /** Absent unless memory is assigned. */
  readonly memory?: MemoryManager;
}

/** Undefined on nodes without files, or without the gate for it. */
export function newPodResources(
  values: NodeAgentOptions,
  { informers, clock, log, writeFiles }: NodeAgentDependencies,
  { registry, manager, allocations, devices, cpus, memory }: PodResourcesInput,
): PodResourcesServer | undefined {
  const gates = new FeatureGates(values['feature-gates']);
  if (writeFiles === false || !gates.enabled('NodeAgentPodResources')) return undefined;
  return new PodResourcesServer({
    clock,
    log,
    socket: join(values['root-dir'], 'pod-resources', 'kubelet.sock'),
    pods: () => manager.list(),
    refresh: () => allocations.retainActive(),
    held: {
      devices: (uid, container) => (devices === undefined ? new Map() : heldDevices(devices, uid, container)),
      cpus: (uid, container) => ascending(cpus?.exclusive(uid, container)),
      memory: (uid, container) => sizes(memory?.memoryOf(uid, container)),
    },
    allocatable: {
      devices: () => (devices === undefined ? new Map() : allocatableDevices(devices)),
      cpus: () => ascending(cpus?.allocatable),
      memory: () => sizes(memory?.allocatable),
    },
    servesAllocatable: gates.enabled('NodeAgentPodResourcesGetAllocatable'),
    metrics: new PodResourcesMetrics(registry, informers.client.dialect),
  });
}

function ascending(cpus: CPUSet = new Set()): number[] {
  return [...cpus].sort((a, b) => a - b);
}

function sizes(blocks: readonly MemoryBlock[] = []) {
  return blocks.map(({ type, size, nodes }) => ({ type, bytes: size, nodes }));
}
