/** A cluster in which small operators of tests run, each a client of its own with a name. */
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import type { TestClusterParts, TestFeatureFactory } from '#testcluster/feature/feature.js';
import { features } from '#testcluster/features.js';
import type { Report } from '#testcluster/report/report.js';
import { type StartedTestCluster, startTestCluster } from '#testcluster/start-test-cluster.js';
import { JumpingClock } from '#testcluster/testing/jumping-clock.js';

/** Where one operator works: the objects of its namespace are Deployments, of which no controller of the cluster knows. */
export interface Scene {
  readonly namespace: string;
  readonly operator: Client;
  /** The client of the suite. */
  readonly suite: Client;
  /** The operator's clock: a sleep takes no real time. */
  readonly clock: Clock;
  /** Creates an object for the operator. */
  create(name: string): Promise<Deployment>;
  /** Sets the faults of the operator; rules without `match.userAgent` are the operator's. */
  faults(rules: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  report(): Promise<Report>;
}

export class OperatorWorld {
  readonly #clock = new JumpingClock();
  #started: StartedTestCluster | undefined;
  #parts: TestClusterParts | undefined;

  async start(): Promise<void> {
    const capture: TestFeatureFactory = (parts) => {
      this.#parts = parts;
      return {};
    };
    this.#started = await startTestCluster({
      controllers: 'garbagecollector',
      port: 0,
      clock: this.#clock.cluster,
      features: [...features, capture],
    });
  }

  async close(): Promise<void> {
    await this.#started?.close();
  }

  client(userAgent: string): RestClient {
    if (this.#parts === undefined) throw new Error('the cluster has not started');
    const { process, dialect } = this.#parts;
    const user = { name: userAgent, groups: [dialect.groups.masters, dialect.groups.authenticated] };
    const transport = new InProcessTransport({ handler: process().api.handler, user });
    return new RestClient({ transport, dialect, clock: this.#clock.client, userAgent });
  }

  /** The scene of an operator with that name, and a namespace of the same name. */
  async scene(name: string): Promise<Scene> {
    const suite = this.client(`suite-of-${name}`);
    await suite.resource(namespaces).create({ metadata: { name }, spec: {} });
    return {
      namespace: name,
      operator: this.client(name),
      suite,
      clock: this.#clock.client,
      create: (object) => suite.resource(deployments).create(deployment(name, object)),
      async faults(rules) {
        const own = rules.map((rule) => ({ ...rule, match: { userAgent: name, ...(rule['match'] as object) } }));
        await suite.request('POST', '/test/faults', { seed: 7, rules: own });
      },
      report: () => suite.request<Report>('GET', `/test/report?userAgent=*${name}`),
    };
  }
}

function deployment(namespace: string, name: string): Deployment {
  const labels = { app: name };
  return {
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } },
    },
  };
}
