import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { everything, type LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import type { Budget, StorageObjects } from '#scheduler/cluster/objects.js';
import { Plans } from '#scheduler/decision/plans.js';
import { RandomCluster } from '#scheduler/testing/random-cluster.js';
import type { Model } from '#scheduler/testing/reference/model.js';
import type { ModelBudget } from '#scheduler/testing/reference/preemption.js';

function budgetOf({ allowed, labels, namespace }: ModelBudget): Budget {
  const [[key, value] = ['', '']] = Object.entries(labels);
  return {
    key: `${namespace}/${value}`,
    allowed,
    covers: (pod) => pod.namespace === namespace && pod.labels[key] === value,
  };
}

/** A random cluster, kept in step in the scheduler's form and the reference's form. */
export class Twins implements Model {
  readonly make: RandomCluster;
  readonly cluster: Cluster;
  readonly plans: Plans;
  nodes: Node[] = [];
  pods: Pod[] = [];
  budgets: ModelBudget[] = [];
  readonly namespaces: Record<string, Record<string, string>>;
  readonly storage: StorageObjects;
  #nodes = 0;

  constructor(random: () => number, dialect: Dialect) {
    this.make = new RandomCluster(random, dialect);
    this.storage = this.make.storage;
    this.namespaces = { one: { team: this.make.pick('red', 'blue') }, two: { team: this.make.pick('red', 'blue') } };
    this.cluster = new Cluster(dialect, {
      namespaceLabels: (namespace) => this.namespaces[namespace],
      spreadSelector: (pod) => this.spreadSelector(pod),
      storage: this.make.storage,
      budgets: () => this.budgets.map(budgetOf),
    });
    this.plans = new Plans(this.cluster);
  }

  spreadSelector({ metadata }: Pod): LabelSelector {
    return metadata.namespace === 'one' ? selectorFromLabels({ app: metadata.labels?.['app'] ?? '' }) : everything;
  }

  step(): void {
    const { make } = this;
    const node = make.pick(...this.nodes);
    const what = make.pick('node', 'pod', 'pod', 'pod', 'remove pod', 'relabel', 'namespace', 'remove node', 'pod');
    if (what === 'node' || node === undefined) return this.#addNode(make.node(`n${this.#nodes++}`));
    const name = node.metadata.name ?? '';
    const pod = make.pick(...this.pods);
    switch (what) {
      case 'pod':
        return this.#addPod(make.pod(name));
      case 'remove pod':
        if (pod !== undefined) this.#removePod(pod);
        return;
      case 'relabel':
        this.nodes = this.nodes.filter((each) => each !== node);
        return this.#addNode(make.node(name));
      case 'namespace':
        this.namespaces[make.pick('one', 'two')] = { team: make.pick('red', 'blue') };
        this.cluster.epoch++;
        return;
      case 'remove node':
        if (make.chance(0.3)) this.#removeNode(node);
        return;
    }
  }

  #removeNode(node: Node): void {
    this.nodes = this.nodes.filter((each) => each !== node);
    this.cluster.removeNode(node.metadata.name ?? '');
  }

  #addNode(node: Node): void {
    this.nodes.push(node);
    this.cluster.setNode(node);
  }

  #addPod(pod: Pod): void {
    this.pods.push(pod);
    this.cluster.setPod(pod);
  }

  #removePod(pod: Pod): void {
    this.pods = this.pods.filter((each) => each !== pod);
    this.cluster.removePod(pod.metadata.uid ?? '');
  }
}
