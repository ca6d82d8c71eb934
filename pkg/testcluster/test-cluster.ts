/**
 * A cluster for tests in this process: an API server, and whatever of controllers, scheduler and simulated nodes the test
 * needs, with endpoints below `/test` that no other cluster has.
 */
import type { AddressInfo } from 'node:net';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { EmbeddedCluster } from '#cluster/embedded/embedded-cluster.js';
import type { Gates } from '#cluster/supervise/arguments.js';
import type { ClusterProcessOptions } from '#cluster/supervise/cluster-process.js';
import { simulatedDependencies } from '#nodeagent/simulated/node.js';
import { Simulation } from '#nodeagent/simulated/simulation.js';
import { type ControllerChoice, runsController } from '#testcluster/controller-choice.js';
import type { TestClusterParts, TestFeature, TestFeatureFactory } from '#testcluster/feature/feature.js';
import { features as standardFeatures } from '#testcluster/features.js';
import { aroundOf, beginWorkOf, pathsOf } from '#testcluster/serve-features.js';

export interface TestClusterSetup {
  readonly daemons: Omit<ClusterProcessOptions, 'paths' | 'around'>;
  readonly choice: ControllerChoice;
  /** Number of simulated nodes. */
  readonly nodes: number;
  /** Existing folder of the nodes' files. */
  readonly folder: string;
  /** Of the node agents; absent gates keep their defaults. */
  readonly featureGates: Gates;
  /** Rules of the simulated pods, as text or value; see `Simulation.setRules`. The constructor throws RulesError. */
  readonly podRules?: unknown;
  /** The faults at the start, as text or value; see `parseFaultPlan`. The constructor throws FaultPlanError. */
  readonly faultPlan?: unknown;
  /** The endpoints below `/test`; all when absent. */
  readonly features?: readonly TestFeatureFactory[] | undefined;
}

export class TestCluster {
  readonly #setup: TestClusterSetup;
  readonly #cluster: EmbeddedCluster;
  readonly #features: readonly TestFeature[];
  readonly #simulation: Simulation;
  #closed: Promise<void> | undefined;

  constructor(setup: TestClusterSetup) {
    const { daemons, choice, nodes, folder, featureGates, features = standardFeatures } = setup;
    const { dialect, clock } = daemons;
    this.#setup = setup;
    this.#simulation = new Simulation(clock);
    if (setup.podRules !== undefined) this.#simulation.setRules(setup.podRules);
    this.#features = features.map((feature) => feature(this.#parts()));
    const around = aroundOf(this.#features);
    const beginWork = beginWorkOf(this.#features);
    this.#cluster = new EmbeddedCluster({
      daemons: {
        ...{ ...daemons, hasScheduler: choice.scheduler, paths: pathsOf(this.#features), beginWork },
        ...(around === undefined ? {} : { around }),
      },
      loops: { controllers: choice.controllers.length > 0, scheduler: choice.scheduler },
      nodes,
      admitsPods: runsController(choice, 'serviceaccount'),
      simulate: () => simulatedDependencies({ dialect, clock, simulation: this.#simulation }),
      folder,
      featureGates,
    });
  }

  get dialect(): Dialect {
    return this.#setup.daemons.dialect;
  }

  get clock(): Clock {
    return this.#setup.daemons.clock;
  }

  /** A client with all rights, without a socket. */
  get client(): Client {
    return this.#cluster.process.api.client;
  }

  /** Where the API server listens; undefined without a port. */
  get address(): AddressInfo | undefined {
    return this.#cluster.process.api.address;
  }

  /** Rejects when a daemon fails. */
  get failed(): Promise<void> {
    return this.#cluster.process.failed;
  }

  /** Stops a node like a power failure. Throws for an unknown name. */
  stopNode(name: string): Promise<void> {
    return this.#cluster.stopNode(name);
  }

  /** Resolves when the API server serves, the nodes take pods and pods can be created. The owner calls `close`, also after a failure. */
  async start(): Promise<void> {
    await this.#cluster.start();
    for (const feature of this.#features) await feature.started?.();
  }

  /** Stops everything; the store stays open. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const feature of this.#features) await feature.close?.();
    await this.#cluster.close();
  }

  #parts(): TestClusterParts {
    const { dialect, clock, random, log, store } = this.#setup.daemons;
    return {
      ...{ dialect, clock, random, log, store },
      simulation: this.#simulation,
      faultPlan: this.#setup.faultPlan,
      process: () => this.#cluster.process,
      nodes: () => this.#cluster.nodes,
      stopNode: (name) => this.#cluster.stopNode(name),
    };
  }
}
