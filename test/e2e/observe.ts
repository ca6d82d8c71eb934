/** Observes a cluster from outside: through the API as its administrator, and directly at the runtime. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { readAll } from '#client/rest/response.js';
import { layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { containerdPaths } from '#containerd/containerd.js';
import type { Container } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { eventually, type TestCluster } from '#test/e2e/harness.js';

/** A client with all rights. The caller closes it. */
export async function adminClient(
  cluster: Pick<TestCluster, 'config'>,
  dialect: DialectName = 'orch',
): Promise<Client> {
  const config = await loadKubeconfig(cluster.config, { clock: realClock });
  return connect(config, { dialect: dialectByName(dialect), clock: realClock, userAgent: 'e2e' });
}

/** The metrics of the API server. Throws when they are empty. */
export async function metricsOf(cluster: Pick<TestCluster, 'config'>): Promise<string> {
  const config = await loadKubeconfig(cluster.config, { clock: realClock });
  const client = connect(config, { dialect: dialectByName('orch'), clock: realClock, userAgent: 'e2e' });
  try {
    const { body } = await client.open({ method: 'GET', path: '/metrics' });
    return (await readAll(body)).toString();
  } finally {
    await client.close();
  }
}

/** The names of a cluster's nodes. */
export function nodeNames(dataDir: string): readonly string[] {
  return readSettings(layoutOf(dataDir).settings)?.nodes ?? [];
}

/** A separate connection to the runtime of the cluster's first node. The caller closes it. */
export function openRuntime(dataDir: string): GrpcCRI {
  const { socket } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  return new GrpcCRI({ endpoint: `unix://${socket}`, clock: realClock, timeoutMs: 10_000 });
}

const labels = new RuntimeLabels(dialectByName('orch'));

/** `uid/name` of the container's pod and place in it. */
function placeOf(container: Container): string {
  return `${container.labels[labels.podUID]}/${container.labels[labels.containerName]}`;
}

function podUIDOf(object: { readonly labels: Readonly<Record<string, string>> }): string {
  return object.labels[labels.podUID] ?? '';
}

/** Polls the runtime; records every container of a pod that ran twice at the same time. */
export class DoubleRunWatch {
  readonly #cri: GrpcCRI;
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;
  readonly doubles = new Set<string>();
  /** How often the runtime answered. */
  samples = 0;

  constructor(cri: GrpcCRI) {
    this.#cri = cri;
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      // A runtime that was killed a moment ago does not answer.
      const containers = await this.#cri.listContainers().catch(() => undefined);
      if (containers !== undefined) this.#look(containers);
      await realClock.sleep(150, this.#stop.signal);
    }
  }

  #look(containers: readonly Container[]): void {
    this.samples++;
    const running = new Map<string, string>();
    for (const container of containers) {
      if (container.state !== 'CONTAINER_RUNNING') continue;
      const place = placeOf(container);
      const other = running.get(place);
      if (other !== undefined) this.doubles.add(`${place}: ${other} and ${container.id}`);
      running.set(place, container.id);
    }
  }
}

/** Waits until every sandbox and container of the runtime belongs to a pod of the API; throws with the others. */
export async function untilNothingIsOrphaned(client: Client, cri: GrpcCRI): Promise<void> {
  let orphans: string[] = [];
  await eventually(
    'every sandbox and container belongs to a pod',
    async () => {
      const held = [...(await cri.listPodSandbox()), ...(await cri.listContainers())];
      const podUIDs = new Set((await client.resource(pods).list()).items.map((pod) => pod.metadata.uid));
      orphans = held
        .filter((object) => !podUIDs.has(podUIDOf(object)))
        .map((object) => `${object.id} ${podUIDOf(object)}`);
      if (orphans.length > 0) throw new Error(`orphans: ${orphans.join(', ')}`);
      return true;
    },
    30_000,
  );
}

/** Pods whose status names another container than the running one; empty when all agree. */
export async function disagreements(podList: readonly Pod[], cri: GrpcCRI): Promise<string[]> {
  const running = new Map(
    (await cri.listContainers()).filter((c) => c.state === 'CONTAINER_RUNNING').map((c) => [placeOf(c), c.id]),
  );
  return podList.flatMap((pod) =>
    pod.spec.containers.flatMap(({ name }) => {
      const reported = pod.status?.containerStatuses?.find((status) => status.name === name)?.containerID;
      const has = running.get(`${pod.metadata.uid}/${name}`);
      return has !== undefined && reported === `containerd://${has}`
        ? []
        : [`${pod.metadata.name}: ${reported} is ${has}`];
    }),
  );
}

/** PIDs and command lines of the processes whose command line contains the text. */
export async function processesOf(text: string): Promise<string[]> {
  const processes: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const command = (await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '')).replaceAll('\0', ' ');
    if (command.includes(text)) processes.push(`${pid} ${command.slice(0, 300)}`);
  }
  return processes;
}
