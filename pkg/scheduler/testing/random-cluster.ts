/** Random clusters and pods, small and dense enough to exercise every rule often. */
import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodAffinityTerm,
  PodSpec,
  Taint,
  Toleration,
} from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { RandomStorage } from '#scheduler/testing/random-storage.js';

export class RandomCluster {
  readonly #random: () => number;
  readonly #dialect: Dialect;
  readonly storage: RandomStorage;
  #count = 0;

  constructor(random: () => number, dialect: Dialect) {
    this.#random = random;
    this.#dialect = dialect;
    this.storage = new RandomStorage(this, dialect);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(...choices: readonly T[]): T {
    return choices[Math.floor(this.#random() * choices.length)] as T;
  }

  #some<T>(most: number, value: () => T): T[] {
    return Array.from({ length: Math.floor(this.#random() * (most + 1)) }, value);
  }

  node(name: string): Node {
    const { hostname, zone } = this.#dialect.labels;
    const labels: Record<string, string> = {};
    if (this.chance(0.95)) labels[hostname] = name;
    if (this.chance(0.8)) labels[zone] = this.pick('a', 'b', 'c');
    if (this.chance(0.5)) labels['disk'] = this.pick('ssd', 'hdd');
    if (this.chance(0.5)) labels['size'] = this.pick('2', '10', 'large');
    const allocatable: Record<string, string> = {
      cpu: this.pick('500m', '1', '2', '4'),
      memory: this.pick('512Mi', '1Gi', '4Gi'),
      pods: this.pick('1', '3', '10'),
    };
    if (this.chance(0.5)) allocatable['ephemeral-storage'] = this.pick('1Gi', '10Gi');
    if (this.chance(0.3)) allocatable['example.com/gpu'] = this.pick('0', '1', '2');
    const image = () => ({
      names: [`${this.pick('web', 'db', 'cache')}:latest`],
      sizeBytes: this.pick(10, 100, 700, 2000) * 1024 * 1024,
    });
    return {
      metadata: { name, labels },
      spec: { unschedulable: this.chance(0.05), taints: this.chance(0.3) ? this.#some(2, () => this.#taint()) : [] },
      status: { allocatable, images: this.chance(0.5) ? [image()] : [] },
    };
  }

  #taint(): Taint {
    return {
      key: this.pick('dedicated', 'spot'),
      value: this.pick('x', 'y'),
      effect: this.pick('NoSchedule', 'NoExecute', 'PreferNoSchedule', 'PreferNoSchedule'),
    };
  }

  #toleration(): Toleration {
    const key = this.pick('dedicated', 'spot', 'spot', this.#dialect.taints.unschedulable);
    const effect = this.pick(undefined, 'NoSchedule', 'NoExecute', 'PreferNoSchedule');
    const operator = this.pick('Exists', 'Equal');
    return {
      key,
      operator,
      ...(operator === 'Equal' ? { value: this.pick('x', 'y') } : {}),
      ...(effect === undefined ? {} : { effect }),
    };
  }

  /** `node`: the pod's node; absent: the pod is pending. */
  pod(node?: string): Pod {
    const name = `p${this.#count++}`;
    const nodeName = node ?? (this.chance(0.03) ? this.pick('n0', 'n1') : undefined);
    const nodeNameField = nodeName === undefined ? {} : { nodeName };
    const labels: Record<string, string> = { app: this.pick('web', 'db', 'cache') };
    if (this.chance(0.3)) labels['tier'] = this.pick('front', 'back');
    return {
      metadata: {
        name,
        uid: name,
        namespace: this.pick('one', 'two'),
        labels,
        ...(node !== undefined && this.chance(0.1) ? { deletionTimestamp: '2022-05-03T00:00:00Z' } : {}),
      },
      spec: { ...this.#spec(), priority: this.pick(0, 0, 10, 100), ...nodeNameField },
      status: this.chance(0.8) ? { startTime: `2022-05-03T00:00:0${this.pick(1, 2, 3, 4)}Z` } : {},
    };
  }

  #spec(): PodSpec {
    const { hostname, zone } = this.#dialect.labels;
    const topology = () => this.pick(hostname, zone, zone, 'disk');
    const selector = () => ({ matchLabels: { app: this.pick('web', 'db', 'cache') } });
    const expression = (): NodeSelectorRequirement =>
      this.pick<() => NodeSelectorRequirement>(
        () => ({ key: 'disk', operator: this.pick('In', 'NotIn'), values: ['ssd'] }),
        () => ({ key: zone, operator: 'In', values: [this.pick('a', 'b'), this.pick('b', 'c')] }),
        () => ({ key: this.pick('disk', zone), operator: this.pick('Exists', 'DoesNotExist') }),
        () => ({ key: 'size', operator: this.pick('Gt', 'Lt'), values: [this.pick('3', '10')] }),
      )();
    const field = () => ({
      key: 'metadata.name',
      operator: this.pick('In', 'In', 'NotIn'),
      values: [this.pick('n0', 'n1')],
    });
    const nodeTerm = (): NodeSelectorTerm => ({
      matchExpressions: this.#some(2, expression),
      ...(this.chance(0.15) ? { matchFields: [field()] } : {}),
    });
    const term = (): PodAffinityTerm => ({
      topologyKey: topology(),
      labelSelector: this.chance(0.9) ? selector() : {},
      ...(this.chance(0.2) ? { namespaces: [this.pick('one', 'two')] } : {}),
      ...(this.chance(0.2) ? { namespaceSelector: this.chance(0.5) ? {} : { matchLabels: { team: 'red' } } } : {}),
    });
    const terms = (share: number) => ({
      ...(this.chance(share) ? { requiredDuringSchedulingIgnoredDuringExecution: this.#some(2, term) } : {}),
      ...(this.chance(share)
        ? {
            preferredDuringSchedulingIgnoredDuringExecution: this.#some(2, () => ({
              weight: this.pick(1, 10, 100),
              podAffinityTerm: term(),
            })),
          }
        : {}),
    });
    const nodeAffinity = {
      ...(this.chance(0.15)
        ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: this.#some(2, nodeTerm) } }
        : {}),
      ...(this.chance(0.2)
        ? { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: this.pick(1, 50), preference: nodeTerm() }] }
        : {}),
    };
    const container = (i: number) => ({
      name: `c${i}`,
      image: this.pick('web', 'db:latest', 'cache:1'),
      ...(this.chance(0.15) ? { ports: [{ containerPort: 80, hostPort: this.pick(80, 81) }] } : {}),
      ...(this.chance(0.7) ? { resources: { requests: this.#requests() } } : {}),
    });
    return {
      containers: [container(0), ...this.#some(1, () => container(1))],
      initContainers: this.#some(1, () => container(2)),
      affinity: { nodeAffinity, podAffinity: terms(0.2), podAntiAffinity: terms(0.15) },
      tolerations: this.#some(3, () => this.#toleration()),
      ...(this.chance(0.15) ? { nodeSelector: { disk: this.pick('ssd', 'hdd') } } : {}),
      ...(this.chance(0.1) ? { overhead: { cpu: '50m' } } : {}),
      ...(this.chance(0.3) ? { volumes: this.#some(3, () => this.storage.use('v')) } : {}),
      topologySpreadConstraints: this.chance(0.6)
        ? []
        : this.#some(2, () => ({
            maxSkew: this.pick(1, 2),
            topologyKey: topology(),
            whenUnsatisfiable: this.pick('DoNotSchedule', 'ScheduleAnyway'),
            labelSelector: selector(),
          })),
    };
  }

  #requests(): Record<string, string> {
    const requests: Record<string, string> = {};
    if (this.chance(0.7)) requests['cpu'] = this.pick('100m', '250m', '1');
    if (this.chance(0.7)) requests['memory'] = this.pick('64Mi', '256Mi', '1Gi');
    if (this.chance(0.1)) requests['ephemeral-storage'] = '1Gi';
    if (this.chance(0.1)) requests['example.com/gpu'] = '1';
    return requests;
  }
}
