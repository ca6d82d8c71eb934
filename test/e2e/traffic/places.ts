/** All places from which a test connects, by name. */
import type { HostCluster } from '#test/e2e/traffic/cluster.js';
import { tcpPorts, udpPorts } from '#test/e2e/traffic/manifests.js';
import { namespacesOfPods, Place } from '#test/e2e/traffic/place.js';
import type { Failure, Target } from '#test/e2e/traffic/protocol.js';
import type { Row } from '#test/e2e/traffic/table.js';

export interface Kept {
  readonly failures: readonly (Failure & { readonly name: string })[];
  /** Number of answered connections. */
  readonly answered: number;
}

export class Places {
  readonly #cluster: HostCluster;
  readonly #places = new Map<string, Place>();

  constructor(cluster: HostCluster) {
    this.#cluster = cluster;
  }

  /** Opens places in the networks of pods (UID → name), nodes and hosts outside. All but nodes serve. */
  async open(pods: ReadonlyMap<string, string>): Promise<void> {
    const { nodes, outside, stranger } = this.#cluster;
    for (const [uid, namespace] of await namespacesOfPods([...pods.keys()])) {
      const name = pods.get(uid) ?? '';
      this.#places.set(name, new Place(name, namespace));
    }
    for (const [name, host] of [...nodes, ['outside', outside], ['stranger', stranger]] as const)
      this.#places.set(name, new Place(name, `/run/netns/${host.name}`));
    const serving = [...this.#places.values()].filter(({ name }) => !nodes.has(name));
    await Promise.all(serving.map((each) => each.serve(tcpPorts, udpPorts)));
  }

  get(name: string): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`there is no place ${name}`);
    return place;
  }

  /** The same row for each place. */
  each(names: readonly string[], row: (from: Place) => Omit<Row, 'from'>): Row[] {
    return names.map((name) => ({ from: this.get(name), ...row(this.get(name)) }));
  }

  /**
   * Clients that open one connection after the other, without retries.
   * @returns A function that stops them and reports the failures.
   */
  async keepAsking(
    names: readonly string[],
    targets: (name: string) => readonly Target[],
    pauseMs = 100,
  ): Promise<() => Promise<Kept>> {
    await Promise.all(names.map((name) => this.get(name).keepAsking(targets(name), { pauseMs })));
    return async () => {
      const reports = await Promise.all(names.map(async (name) => ({ name, ...(await this.get(name).report()) })));
      const failures = reports.flatMap(({ failures: each, name }) => each.map((failure) => ({ name, ...failure })));
      const answers = reports.flatMap((report) => Object.values(report.answers));
      return { failures, answered: answers.reduce((sum, count) => sum + count, 0) };
    };
  }

  close(...names: readonly string[]): void {
    for (const name of names.length === 0 ? [...this.#places.keys()] : names) {
      this.#places.get(name)?.close();
      this.#places.delete(name);
    }
  }
}
