/** Network policies between the test's networks, and their expected effect. */
import type { Test } from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { eventually } from '#test/e2e/harness.js';
import {
  type Networks,
  nodeAddress,
  nodeAddress6,
  outsideAddress,
  outsideAddress6,
  podAddresses,
  podAddresses6,
} from '#test/integration/proxy/networks.js';

const namespace = 'default';
const names = ['database', 'web'] as const;

const blocks = (...without: readonly (readonly [string, string])[]) =>
  without.map(([cidr, except]) => ({ ipBlock: { cidr, except: [except] } }));

/** Ingress: web at a named port, and outside clients except one at a range of ports. */
const database: NetworkPolicy['spec'] = {
  podSelector: { matchLabels: { app: 'database' } },
  policyTypes: ['Ingress'],
  ingress: [
    { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 'main' }] },
    {
      from: blocks(['198.18.77.0/24', `${outsideAddress}/32`], ['fd00:77::/64', `${outsideAddress6}/128`]),
      ports: [{ port: 8081, endPort: 8082 }],
    },
  ],
};

/** Egress: to the database at a named port, and outside except the node. */
const web: NetworkPolicy['spec'] = {
  podSelector: { matchLabels: { app: 'web' } },
  policyTypes: ['Egress'],
  egress: [
    { to: [{ podSelector: { matchLabels: { app: 'database' } } }], ports: [{ port: 'main' }] },
    {
      to: blocks(['198.18.77.0/24', `${nodeAddress}/32`], ['fd00:77::/64', `${nodeAddress6}/128`]),
      ports: [{ port: 8080, endPort: 8081 }],
    },
  ],
};

type Row = readonly [from: string, to: string, passes: boolean];

export class PolicyCases {
  readonly #client: Client;
  readonly #networks: Networks;
  /** A service whose only endpoint is the database. */
  readonly #service: string;

  constructor(client: Client, networks: Networks, service: string) {
    this.#client = client;
    this.#networks = networks;
    this.#service = service;
  }

  /** Pods of the node `here`. */
  async prepare(): Promise<void> {
    const client = this.#client;
    await client.resource(nodes).create({ metadata: { name: 'here' }, spec: {} });
    await eventually('there is an account for pods', async () => {
      const created = await client
        .resource(pods)
        .create(podOf('database'))
        .catch(() => undefined);
      return created !== undefined;
    });
    await client.resource(pods).create(podOf('web'));
    for (const [i, name] of names.entries()) {
      const pod = await client.resource(pods).get(name, { namespace });
      const ips = [podAddresses[i] ?? '', podAddresses6[i] ?? ''];
      const status = { phase: 'Running', podIP: ips[0] ?? '', podIPs: ips.map((ip) => ({ ip })) };
      await client.resource(pods).updateStatus({ ...pod, status });
    }
  }

  async apply(): Promise<void> {
    for (const [name, spec] of Object.entries({ database, web }))
      await this.#client.resource(networkpolicies).create({ metadata: { name, namespace }, spec });
  }

  /** Expectations while the policies exist. */
  async hold(t: Test): Promise<void> {
    const { node, outside, pods: pair } = this.#networks;
    const [databasePod = '', webPod = ''] = pair;
    const rows: Row[] = places.flatMap(([ofDatabase, ofWeb, ofNode, ofOutside]): Row[] => [
      [webPod, `${ofDatabase}:8081`, false],
      [webPod, `${ofOutside}:8082`, false],
      [webPod, `${ofNode}:8080`, false],
      [outside, `${ofDatabase}:8080`, false],
      [outside, `${ofDatabase}:8081`, false],
      [webPod, `${ofDatabase}:8080`, true],
      [webPod, `${ofOutside}:8081`, true],
      [outside, `${ofWeb}:8080`, true],
      [databasePod, `${ofOutside}:8082`, true],
      [databasePod, `${ofDatabase}:8082`, true],
      // Probes of the node.
      [node, `${ofDatabase}:8082`, true],
    ]);
    await this.#check(t, [...rows, [webPod, this.#service, true], [databasePod, this.#service, true]]);
  }

  /** Expectations while policies change; none exist at the end. */
  async follow(t: Test): Promise<void> {
    const { outside, pods: pair } = this.#networks;
    const [, webPod = ''] = pair;
    await this.#label('web', 'another');
    await this.#check(
      t,
      places.flatMap(([ofDatabase, , ofNode]): Row[] => [
        [webPod, `${ofDatabase}:8080`, false],
        [webPod, `${ofNode}:8080`, true],
      ]),
    );
    const policies = this.#client.resource(networkpolicies);
    const policy = await policies.get('database', { namespace });
    const ingress = [{ ports: [{ port: 8081 }] }];
    await policies.update({ ...policy, spec: { podSelector: {}, policyTypes: ['Ingress'], ingress } });
    await this.#check(
      t,
      places.flatMap((addresses): Row[] =>
        addresses.slice(0, 2).flatMap((address): Row[] => [
          [outside, `${address}:8080`, false],
          [outside, `${address}:8081`, true],
        ]),
      ),
    );
    for (const name of Object.keys({ database, web })) await policies.delete(name, { namespace });
    await this.#label('web', 'web');
    await this.#check(
      t,
      places.map(([ofDatabase]): Row => [webPod, `${ofDatabase}:8082`, true]),
    );
  }

  async #label(name: string, app: string): Promise<void> {
    const pod = await this.#client.resource(pods).get(name, { namespace });
    await this.#client.resource(pods).update({ ...pod, metadata: { ...pod.metadata, labels: { app } } });
  }

  async #check(t: Test, rows: readonly Row[]): Promise<void> {
    await Promise.all(
      rows.map(async ([from, to, passes]) => {
        const isSo = async () => ((await this.#networks.fetch(from, to)) !== 'silence') === passes;
        const became = await eventually('it is so', isSo).catch(() => false);
        t.ok(became, `${from} → ${to} ${passes ? 'passes' : 'is dropped'}`);
      }),
    );
  }
}

/** By family: addresses of the database, of web, of the node and of the outside client. */
const places = [
  [...podAddresses, nodeAddress, outsideAddress],
  [...podAddresses6, nodeAddress6, outsideAddress6].map((address) => `[${address}]`),
] as const;

function podOf(name: (typeof names)[number]): Pod {
  return {
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      nodeName: 'here',
      containers: [{ name: 'main', image: 'none', ports: [{ name: 'main', containerPort: 8080 }] }],
    },
  };
}
