/** The behaviour of each pod of a node, from the pod as it is now; tells users of wrong settings. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodSandboxConfig } from '#nodeagent/cri/cri.js';
import type { SimulatedRuntimeAgent } from '#nodeagent/dependencies.js';
import { Behaviour } from '#nodeagent/simulated/behaviour.js';
import type { SimulationRule } from '#nodeagent/simulated/settings/rules.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';

interface Computed {
  readonly rules: readonly SimulationRule[];
  readonly behaviour: Behaviour;
}

export class BehaviourTable {
  readonly #simulation: Simulation;
  readonly #prefix: string;
  /** By the pod object, or by the sandbox's configuration; spares parsing the settings at each use. */
  readonly #computed = new WeakMap<object, Computed>();
  /** Pod UID → problems that were reported. */
  readonly #reported = new Map<string, Set<string>>();
  #agent: SimulatedRuntimeAgent | undefined;

  constructor(simulation: Simulation, prefix: string) {
    this.#simulation = simulation;
    this.#prefix = prefix;
  }

  connect(agent: SimulatedRuntimeAgent): void {
    this.#agent = agent;
  }

  #pod({ metadata }: PodSandboxConfig): Pod | undefined {
    return this.#agent?.pod(metadata);
  }

  of(sandbox: PodSandboxConfig): Behaviour {
    const pod = this.#pod(sandbox);
    const key = pod ?? sandbox;
    const { rules } = this.#simulation;
    const computed = this.#computed.get(key);
    if (computed !== undefined && computed.rules === rules) return computed.behaviour;
    const { name, namespace, uid } = sandbox.metadata;
    const { labels = {}, annotations = {} } = pod?.metadata ?? sandbox;
    const behaviour = new Behaviour({ name, namespace, uid, labels, annotations, pod }, rules, this.#prefix);
    this.#computed.set(key, { rules, behaviour });
    if (pod !== undefined) this.#report(pod, behaviour);
    return behaviour;
  }

  /** UID of the pod's controller; undefined without one. */
  controllerUID(sandbox: PodSandboxConfig): string | undefined {
    return this.#pod(sandbox)?.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
  }

  /** The pod's sandbox is gone. */
  forget({ metadata }: PodSandboxConfig): void {
    this.#reported.delete(metadata.uid);
  }

  #report(pod: Pod, { problems }: Behaviour): void {
    if (problems.length === 0) return;
    const uid = pod.metadata.uid ?? '';
    const reported = this.#reported.get(uid) ?? new Set();
    this.#reported.set(uid, reported);
    for (const problem of problems) {
      if (reported.has(problem)) continue;
      reported.add(problem);
      this.#agent?.warn(pod, 'InvalidSimulation', problem);
    }
  }
}
