/** Simulated nodes: the real node agent on an in-memory runtime. */

import { randomBytes } from 'node:crypto';
import { release } from 'node:os';
import type { Container, LifecycleHandler, ProbeHandler } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { specialRange } from '#apimachinery/net/special-ip.js';
import { type AddressRequest, findNodeAddresses, type NodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { architecture, type Machine, type MachineFacts, type MachineState } from '#nodeagent/node/machine.js';
import { type MachineTopology, uniformTopology } from '#nodeagent/node/topology.js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';
import { type Checker, type CheckTarget, RuntimeChecker } from '#nodeagent/probes/checker.js';
import type { SimulatedLogFiles } from '#nodeagent/simulated/log-files.js';
import { SimulatedRuntime, type SimulatedRuntimeOptions } from '#nodeagent/simulated/runtime.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';

export interface SimulatedDependencies {
  readonly cri: SimulatedRuntime;
  readonly machine: SimulatedMachine;
  readonly checker: SimulatedChecker;
  readonly logFiles: SimulatedLogFiles;
  readonly simulation: SimulatedRuntime;
  readonly writeFiles: false;
}

/** Value of `--container-runtime-endpoint` for a simulated node. */
export const simulatedEndpoint = 'simulated';

/**
 * In-memory dependencies of a node agent. `podCIDR`: initial pod addresses, until the agent sets them. `simulation`: what the
 * nodes of a cluster share; absent: the node has its own. `newID`: see `SimulatedRuntimeOptions`; default: random.
 */
export function simulatedDependencies(options: {
  dialect: Dialect;
  clock: Clock;
  podCIDR?: string | undefined;
  onConnection?: SimulatedRuntimeOptions['onConnection'];
  simulation?: Simulation | undefined;
  newID?: (() => string) | undefined;
}): SimulatedDependencies {
  const { dialect, clock, onConnection, podCIDR, simulation, newID = () => randomBytes(32).toString('hex') } = options;
  const runtime = new SimulatedRuntime({
    clock,
    annotationPrefix: dialect.simulationPrefix,
    ...(podCIDR === undefined ? {} : { podCIDR }),
    onConnection,
    simulation,
    newID,
  });
  return {
    cri: runtime,
    machine: new SimulatedMachine(),
    checker: new SimulatedChecker(runtime),
    logFiles: runtime.logFiles,
    simulation: runtime,
    writeFiles: false,
  };
}

/** Decides checks by the pods' behaviour, since no process listens at their addresses. */
export class SimulatedChecker implements Checker {
  readonly #runtime: SimulatedRuntime;
  readonly #exec: RuntimeChecker;

  constructor(runtime: SimulatedRuntime) {
    this.#runtime = runtime;
    this.#exec = new RuntimeChecker(runtime, 'simulated');
  }

  async check(handler: ProbeHandler | LifecycleHandler, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
    const probe = probeOf(handler, target.container);
    const fails = probe !== undefined && this.#runtime.probeFails(target.containerId, probe);
    if (handler.exec !== undefined)
      return fails ? failure('exit code 1') : this.#exec.check(handler, target, timeoutMs);
    if (fails) return { ...failure('HTTP probe failed with statuscode: 503'), statusCode: 503 };
    const path = handler.httpGet?.path ?? '/';
    const answer =
      handler.httpGet === undefined
        ? undefined
        : this.#runtime.probeAnswer(target.containerId, path.startsWith('/') ? path : `/${path}`);
    if (answer === undefined) return { success: true, output: '' };
    const { status, body, latencyMs } = answer;
    if (latencyMs >= timeoutMs) {
      await this.#runtime.pass(timeoutMs);
      return failure(`Get "${path}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`);
    }
    if (latencyMs > 0) await this.#runtime.pass(latencyMs);
    if (status >= 400) return { ...failure(`HTTP probe failed with statuscode: ${status}`), statusCode: status };
    return { success: true, output: body, statusCode: status };
  }
}

/** Which probe of the container it is; undefined for hooks. */
function probeOf(
  handler: ProbeHandler | LifecycleHandler,
  { livenessProbe, readinessProbe, startupProbe }: Container,
): 'liveness' | 'readiness' | 'startup' | undefined {
  if (handler === livenessProbe) return 'liveness';
  if (handler === startupProbe) return 'startup';
  return handler === readinessProbe ? 'readiness' : undefined;
}

interface SimulatedFacts extends Partial<MachineFacts> {
  readonly address?: string;
  readonly topology?: MachineTopology;
}

/** A simulated machine of any size; its agent is reached at this process's addresses. */
export class SimulatedMachine implements Machine {
  readonly #facts: MachineFacts;
  readonly #address: string | undefined;
  readonly #topology: MachineTopology | undefined;

  /**
   * `facts.address`: its address if none is requested; absent: this machine's. `facts.topology`: default: one NUMA node
   * without threads that share a core.
   */
  constructor({ address, topology, ...facts }: SimulatedFacts = {}) {
    this.#address = address;
    this.#topology = topology;
    this.#facts = {
      cpus: 32,
      memoryBytes: 128 * 2 ** 30,
      ephemeralStorageBytes: 512 * 2 ** 30,
      hugePages: { [2 ** 21]: 0, [2 ** 30]: 0 },
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: release(),
      osImage: 'simulated',
      architecture: architecture(),
      appArmor: false,
      ...facts,
    };
  }

  facts(): Promise<MachineFacts> {
    return Promise.resolve(this.#facts);
  }

  state(): Promise<MachineState> {
    const { memoryBytes, ephemeralStorageBytes } = this.#facts;
    return Promise.resolve({
      memoryAvailableBytes: memoryBytes,
      storageAvailableBytes: ephemeralStorageBytes,
      storageCapacityBytes: ephemeralStorageBytes,
      inodesFree: 1e6,
      inodes: 1e6,
      processes: 0,
      maxProcesses: 2 ** 22,
    });
  }

  topology(): Promise<MachineTopology> {
    return Promise.resolve(this.#topology ?? uniformTopology(this.#facts.cpus, this.#facts.memoryBytes));
  }

  async memoryAvailableBytes(): Promise<number> {
    return (await this.state()).memoryAvailableBytes;
  }

  usage(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** A simulated machine has no files. */
  filesystem(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  nodeFilesystem(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Accepts any requested address. */
  addresses(request: AddressRequest): Promise<NodeAddresses> {
    const requested = request.nodeIPs.filter((address) => specialRange(address) !== 'unspecified');
    if (requested.length > 0) return Promise.resolve({ addresses: requested });
    if (this.#address !== undefined) return Promise.resolve({ addresses: [this.#address] });
    return findNodeAddresses(request, hostNetwork);
  }
}
