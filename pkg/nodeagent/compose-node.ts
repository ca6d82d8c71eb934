/** Builds the parts that represent the node in the API: its object and its lease. */

import type { Taint } from '#api/core/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import { external } from '#cloud/registry.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { NodeLease } from '#nodeagent/node/lease.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import { NodeRegistrar } from '#nodeagent/node/registrar.js';
import { RuntimeNetwork } from '#nodeagent/node/runtime-network.js';
import type { Resources } from '#nodeagent/node/status.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { parseTaint } from '#nodeagent/options/identity-rules.js';
import type { PressureCondition } from '#nodeagent/pressure/thresholds.js';
import { RuntimeHealth } from '#nodeagent/runtime/health.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';

export interface RegistrarInput {
  readonly machine: Machine;
  readonly observer: RuntimeObserver;
  readonly events: NodeEvents;
  /** The port that the node reports, 0 for none. */
  readonly serverPort: () => number;
  /** The machine is new to this node name, or was set up again. */
  readonly isNewMachine: () => boolean;
  readonly pressures: () => readonly PressureCondition[];
  /** Names of the attachable volumes that this node uses; undefined until they are known. */
  readonly volumesInUse: () => readonly string[] | undefined;
  /** Another reason why the node is not ready. */
  readonly problem: () => string | undefined;
  /** Absent if the node has no device plugins. */
  readonly devices?: (() => Resources) | undefined;
}

/** The result is not prepared yet. */
export function newRegistrar(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  { machine, observer, events, serverPort, isNewMachine, pressures, volumesInUse, problem, devices }: RegistrarInput,
): NodeRegistrar {
  const { informers, heartbeatClient = informers.client, clock, log, cri, nodeName } = deps;
  // Keeps pods away until the provider's controllers have initialized the node; they remove the taint.
  const { taints } = informers.client.dialect;
  const uninitialized: Taint[] =
    values['cloud-provider'] === external ? [{ key: taints.uninitialized, value: 'true', effect: 'NoSchedule' }] : [];
  return new NodeRegistrar({
    client: heartbeatClient,
    clock,
    log,
    cri,
    machine,
    nodeName,
    register: values['register-node'],
    labels: values['node-labels'],
    taints: [...values['register-with-taints'].flatMap((text) => parseTaint(text) ?? []), ...uninitialized],
    unschedulable: !values['register-schedulable'],
    providerID: values['provider-id'] ?? '',
    controllerAttaches: values['enable-controller-attach-detach'],
    nodeIPs: values['node-ip'].map((address) => canonicalAddress(address.trim()) ?? address),
    maxPods: values['max-pods'],
    podsPerCore: values['pods-per-core'],
    maxImages: values['node-status-max-images'],
    reservations: {
      system: values['system-reserved'],
      platform: values['orch-reserved'],
      evictionHard: values['experimental-allocatable-ignore-eviction']
        ? {}
        : parseEvictionThresholds(values['eviction-hard']).thresholds,
    },
    updateFrequencyMs: values['node-status-update-frequency'],
    reportFrequencyMs: values['node-status-report-frequency'],
    serverPort,
    isNewMachine,
    volumesInUse,
    problem,
    devices,
    events,
    pressures,
    health: new RuntimeHealth({ cri, clock, log, observer }),
    network: new RuntimeNetwork({ cri, log, podCIDR: values['pod-cidr'] ?? '' }),
  });
}

export function newLease(values: NodeAgentOptions, deps: NodeAgentDependencies, registrar: NodeRegistrar): NodeLease {
  const { informers, heartbeatClient = informers.client, clock, log, nodeName } = deps;
  return new NodeLease({
    client: heartbeatClient,
    clock,
    log,
    nodeName,
    leaseDurationSeconds: values['node-lease-duration-seconds'],
    nodeUID: () => registrar.node?.metadata.uid,
  });
}
