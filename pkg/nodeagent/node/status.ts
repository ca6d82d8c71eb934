/** Builds the status of a node. Pure. */
import type { ContainerImage, NodeCondition, NodeStatus, NodeSystemInfo } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { milliValue, quantityFromMilliValue, quantityFromValue, value } from '#apimachinery/quantity.js';
import type { Image } from '#nodeagent/cri/cri.js';
import { binaryQuantity } from '#nodeagent/node/huge-pages.js';
import type { MachineFacts } from '#nodeagent/node/machine.js';
import { type PressureCondition, thresholdAmount } from '#nodeagent/pressure/thresholds.js';

/** Resources withheld from pods. Quantities by resource name. */
export interface Reservations {
  readonly system: Readonly<Record<string, string>>;
  readonly platform: Readonly<Record<string, string>>;
  /** Hard eviction thresholds by signal: a quantity, or a percentage. */
  readonly evictionHard: Readonly<Record<string, string>>;
}

export interface Resources {
  readonly capacity: Record<string, string>;
  readonly allocatable: Record<string, string>;
}

export function nodeResources(facts: MachineFacts, maxPods: number, reserved: Reservations): Resources {
  const reservedQuantities = (name: string) =>
    [reserved.system[name], reserved.platform[name]].filter((q) => q !== undefined);
  const bytes = (name: string) => reservedQuantities(name).reduce((sum, quantity) => sum + value(quantity), 0);
  const milliCPU =
    facts.cpus * 1000 - reservedQuantities('cpu').reduce((sum, quantity) => sum + milliValue(quantity), 0);
  const pages = Object.entries(facts.hugePages).sort(([a], [b]) => Number(a) - Number(b));
  // Huge pages are not available as other memory.
  const inPages = pages.reduce((sum, [, each]) => sum + each, 0);
  const memory =
    facts.memoryBytes -
    inPages -
    bytes('memory') -
    thresholdAmount(reserved.evictionHard['memory.available'], facts.memoryBytes);
  const storage =
    facts.ephemeralStorageBytes -
    bytes('ephemeral-storage') -
    thresholdAmount(reserved.evictionHard['nodefs.available'], facts.ephemeralStorageBytes);
  const inKi = (amount: number) => `${Math.floor(Math.max(0, amount) / 1024)}Ki`;
  const pods = String(maxPods);
  const hugepages = Object.fromEntries(
    pages.map(([size, each]) => [`hugepages-${binaryQuantity(Number(size))}`, binaryQuantity(each)]),
  );
  return {
    capacity: {
      cpu: String(facts.cpus),
      'ephemeral-storage': inKi(facts.ephemeralStorageBytes),
      ...hugepages,
      memory: inKi(facts.memoryBytes),
      pods,
    },
    allocatable: {
      cpu: quantityFromMilliValue(Math.max(0, milliCPU)),
      'ephemeral-storage': quantityFromValue(Math.max(0, Math.floor(storage))),
      ...hugepages,
      memory: inKi(memory),
      pods,
    },
  };
}

export interface NodeStatusInput {
  readonly dialect: Dialect;
  readonly facts: MachineFacts;
  readonly pressures: readonly PressureCondition[];
  readonly resources: Resources;
  readonly addresses: readonly { type: string; address: string }[];
  readonly runtimeVersion: string;
  readonly images: readonly Image[];
  /** -1 for all. */
  readonly maxImages: number;
  readonly serverPort: number;
  /** Why the node is not ready; empty if it is. */
  readonly notReady: readonly string[];
  readonly old: NodeStatus | undefined;
  /** RFC 3339. */
  readonly now: string;
}

function condition(type: string, bad: boolean, texts: { reason: [string, string]; message: [string, string] }) {
  const i = bad ? 1 : 0;
  return { type, status: bad ? 'True' : 'False', reason: texts.reason[i] ?? '', message: texts.message[i] ?? '' };
}

function conditions(input: NodeStatusInput): Omit<NodeCondition, 'lastHeartbeatTime' | 'lastTransitionTime'>[] {
  const { dialect, facts, pressures, notReady } = input;
  const agent = dialect.components.nodeAgent;
  const has = (reason: string) => reason;
  return [
    condition('MemoryPressure', pressures.includes('MemoryPressure'), {
      reason: [`${title(agent)}HasSufficientMemory`, `${title(agent)}HasInsufficientMemory`],
      message: [`${agent} has sufficient memory available`, `${agent} has insufficient memory available`],
    }),
    condition('DiskPressure', pressures.includes('DiskPressure'), {
      reason: [`${title(agent)}HasNoDiskPressure`, `${title(agent)}HasDiskPressure`],
      message: [`${agent} has no disk pressure`, `${agent} has disk pressure`],
    }),
    condition('PIDPressure', pressures.includes('PIDPressure'), {
      reason: [`${title(agent)}HasSufficientPID`, `${title(agent)}HasInsufficientPID`],
      message: [`${agent} has sufficient PID available`, `${agent} has insufficient PID available`],
    }),
    notReady.length === 0
      ? {
          type: 'Ready',
          status: 'True',
          reason: has(`${title(agent)}Ready`),
          message: `${agent} is posting ready status${facts.appArmor ? '. AppArmor enabled' : ''}`,
        }
      : { type: 'Ready', status: 'False', reason: has(`${title(agent)}NotReady`), message: aggregated(notReady) },
  ];
}

/** Joins distinct errors into one text. */
function aggregated(errors: readonly string[]): string {
  const [first = '', ...others] = new Set(errors);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}

function title(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** Limit of reported names per image. */
const maxNamesPerImage = 5;

function imageList(images: readonly Image[], max: number): ContainerImage[] {
  const sorted = [...images].sort((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? -1 : 1));
  return (max < 0 ? sorted : sorted.slice(0, max)).map((image) => ({
    names: [...image.repoDigests, ...image.repoTags].slice(0, maxNamesPerImage),
    sizeBytes: image.sizeBytes,
  }));
}

export function nodeStatus(input: NodeStatusInput): NodeStatus {
  const { facts, dialect, old, now } = input;
  const nodeInfo: NodeSystemInfo = {
    machineID: facts.machineID,
    systemUUID: facts.systemUUID,
    bootID: facts.bootID,
    kernelVersion: facts.kernelVersion,
    osImage: facts.osImage,
    containerRuntimeVersion: input.runtimeVersion,
    kubeletVersion: dialect.version,
    kubeProxyVersion: dialect.version,
    operatingSystem: 'linux',
    architecture: facts.architecture,
  };
  return {
    capacity: input.resources.capacity,
    allocatable: input.resources.allocatable,
    conditions: conditions(input).map((current) => {
      const before = old?.conditions?.find((c) => c.type === current.type);
      const since = before?.status === current.status ? before.lastTransitionTime : undefined;
      return { ...current, lastHeartbeatTime: now, lastTransitionTime: since ?? now };
    }),
    addresses: [...input.addresses],
    daemonEndpoints: { kubeletEndpoint: { Port: input.serverPort } },
    nodeInfo,
    images: imageList(input.images, input.maxImages),
  };
}
