/**
 * How one simulated pod behaves: the settings of its annotations, `sim.<label domain>/<name>` or, for one container,
 * `sim.<label domain>/<name>.<container>`, and of the rules that match it. `settings/table.ts` lists them.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { withDefaultTag } from '#nodeagent/images/puller.js';
import { matchesContainer, matchesPod, ownerKind, type SimulationRule } from '#nodeagent/simulated/settings/rules.js';
import { isSetting, type SettingName, type SettingValue, settingTable } from '#nodeagent/simulated/settings/table.js';
import { type UsageProfile, usesRequest } from '#nodeagent/simulated/settings/usage.js';
import { SettingError } from '#nodeagent/simulated/settings/values.js';

/** A pod as far as the runtime is told of it. */
export interface SimulatedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absent if only the runtime's interface tells of the pod. */
  readonly pod: Pod | undefined;
}

interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly isInit: boolean;
  readonly requests: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  readonly isProbed: boolean;
}

export class Behaviour {
  /** What is wrong with the annotations, as sentences. */
  readonly problems: readonly string[];
  readonly #given: ReadonlyMap<string, unknown>;
  readonly #rules: readonly SimulationRule[];
  readonly #containers: ReadonlyMap<string, PodContainer>;
  readonly #owner: string;

  /** `prefix`: of annotations, with its slash. */
  constructor(pod: SimulatedPod, rules: readonly SimulationRule[], prefix: string) {
    const owner = ownerKind(pod.pod);
    this.#owner = owner;
    this.#rules = rules.filter((rule) => matchesPod(rule, { ...pod, owner }));
    this.#containers = containersOf(pod.pod);
    const problems: string[] = [];
    this.#given = this.#parse(pod.annotations, prefix, problems);
    problems.push(...this.#idle(prefix));
    this.problems = problems;
  }

  /** Undefined if neither an annotation nor a rule sets it. */
  get<K extends SettingName>(name: K, container?: string): SettingValue<K> | undefined {
    const own = container === undefined ? undefined : this.#given.get(`${name}.${container}`);
    return (own ?? this.#given.get(name) ?? this.#ruled(name, container)) as SettingValue<K> | undefined;
  }

  get isOfJob(): boolean {
    return this.#owner === 'Job';
  }

  /** Whether a container without a known program ends by itself: those of Jobs, and init containers. */
  endsByItself(container: string): boolean {
    return this.isOfJob || this.#containers.get(container)?.isInit === true;
  }

  /** The container's request of CPU or memory; undefined without one. */
  request(container: string, resource: 'cpu' | 'memory'): string | undefined {
    return this.#containers.get(container)?.requests[resource];
  }

  /** The name of the container that declares the port; of several containers without it, the first. */
  containerAt(port: number): string | undefined {
    const main = [...this.#containers.values()].filter(({ isInit }) => !isInit);
    return (main.find(({ ports }) => ports.includes(port)) ?? main[0])?.name;
  }

  /** Names of the containers with this image. */
  containersWith(image: string): readonly string[] {
    return [...this.#containers.values()]
      .filter((each) => withDefaultTag(each.image) === image)
      .map(({ name }) => name);
  }

  /** Images of containers whose pull fails, perhaps only at first. */
  imagesThatFail(): readonly string[] {
    return [...this.#containers.values()]
      .filter(({ name }) => this.get('pull-failure', name) !== undefined)
      .map(({ image }) => image);
  }

  #ruled(name: SettingName, container: string | undefined): unknown {
    const of =
      container === undefined ? undefined : (this.#containers.get(container) ?? { name: container, image: '' });
    return this.#rules.find((rule) => rule.settings.has(name) && matchesContainer(rule, of))?.settings.get(name);
  }

  #parse(annotations: SimulatedPod['annotations'], prefix: string, problems: string[]): Map<string, unknown> {
    const given = new Map<string, unknown>();
    for (const [key, text] of Object.entries(annotations)) {
      if (!key.startsWith(prefix)) continue;
      const [name = '', ...rest] = key.slice(prefix.length).split('.');
      const container = rest.length === 0 ? undefined : rest.join('.');
      const refuse = (why: string) => problems.push(`annotation ${key}: ${why}`);
      if (!isSetting(name)) refuse(`there is no such setting; there are ${Object.keys(settingTable).join(', ')}`);
      else if (container !== undefined && !settingTable[name].ofContainers)
        refuse('is of whole pods, not of a container');
      else if (container !== undefined && this.#containers.size > 0 && !this.#containers.has(container))
        refuse(`the pod has no container ${container}`);
      else {
        try {
          given.set(key.slice(prefix.length), settingTable[name].parse(text));
        } catch (error) {
          if (!(error instanceof SettingError)) throw error;
          refuse(error.message);
        }
      }
    }
    return given;
  }

  /** Settings without effect. */
  #idle(prefix: string): string[] {
    const problems: string[] = [];
    for (const { name, isInit, requests, isProbed } of this.#containers.values()) {
      for (const setting of ['cpu', 'cpu-shared', 'memory'] as const) {
        const profile: UsageProfile | undefined = this.get(setting, name);
        const resource = setting === 'memory' ? 'memory' : 'cpu';
        if (profile !== undefined && usesRequest(profile) && requests[resource] === undefined)
          problems.push(`${prefix}${setting}: container ${name} has no ${resource} request of which to use a share`);
      }
      const delays = (['ready-after', 'unready-after', 'unhealthy-after'] as const).filter(
        (setting) => this.get(setting, name) !== undefined,
      );
      if (delays.length > 0 && !isProbed && !isInit)
        problems.push(`${prefix}${delays[0]}: has no effect, since container ${name} has no probe`);
    }
    return problems;
  }
}

function containersOf(pod: Pod | undefined): Map<string, PodContainer> {
  const { initContainers = [], containers = [] } = pod?.spec ?? {};
  return new Map(
    [...initContainers, ...containers].map((container, i) => [
      container.name,
      {
        name: container.name,
        image: container.image ?? '',
        isInit: i < initContainers.length,
        requests: container.resources?.requests ?? {},
        ports: (container.ports ?? []).map(({ containerPort }) => containerPort),
        isProbed: (container.readinessProbe ?? container.livenessProbe ?? container.startupProbe) !== undefined,
      },
    ]),
  );
}
