/** A node agent on its own containerd and the fake API, for tests with real containers. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Test } from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { PodStatus } from '#api/core/v1/types.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { type Containerd, containerdPaths, startContainerd } from '#containerd/containerd.js';
import { cleanContainerd, removeAllSandboxes } from '#containerd/teardown.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { buildImageArchive, type ClusterImages, clusterImages } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { runtimePrerequisites } from '#nodeagent/node/prerequisites.js';
import { RuntimeChecker } from '#nodeagent/probes/checker.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import { type AgentFixture, nodeName, startAgent, testResources } from '#nodeagent/testing/agent-fixture.js';
import { MissingFields } from '#nodeagent/testing/message-inspector.js';
import { mountSmallDisk, type SmallDisk } from '#nodeagent/testing/small-disk.js';

/** Why tests with real containers cannot run here; false when they can. */
export async function skipWithoutContainers(): Promise<string | false> {
  const { root, missing } = await runtimePrerequisites();
  return !root || missing.length > 0 ? 'needs root and containerd' : false;
}

export interface ContainerdFixture {
  /** Contains all files of the agent and the runtime; static pods are in its directory `manifests`. */
  readonly dir: string;
  /** Beginning of the pods' addresses. */
  readonly podPrefix: string;
  readonly cri: GrpcCRI;
  readonly api: FakeApi;
  readonly images: ClusterImages;
  readonly missingFields: MissingFields;
  readonly agent: () => AgentFixture;
  /** Stops the agent, calls `between`, and starts a new agent. */
  restartAgent(between?: () => Promise<void> | void): Promise<void>;
  /** Kills the runtime, calls `between`, and starts the runtime again. */
  restartRuntime(between: () => void): Promise<void>;
  /** Status of the pod of that name in the namespace `default`. */
  status(name: string): PodStatus | undefined;
  isReady(name: string): boolean;
  /** Deletes the pod, and resolves when it is gone. */
  remove(name: string, graceSeconds?: number): Promise<void>;
  /** The status of a pod and all events, for failure messages. */
  describe(name: string): string;
}

export interface ContainerdFixtureOptions {
  readonly dialect?: Dialect;
  /** Additional options of the agent. */
  readonly args?: readonly string[];
  /** Starts a proxy between agent and runtime: gets the runtime's socket, and resolves with the agent's. */
  readonly between?: (runtime: { readonly dir: string; readonly socket: string }) => Promise<string>;
  /** Deadline of the agent's calls to the runtime; ms. */
  readonly timeoutMs?: number;
  /** Small file systems at paths in the directory, such as `.` and `root`, in which the runtime keeps its images. */
  readonly disks?: Readonly<Record<string, SmallDisk>>;
  /** The agent's; default: the real one. */
  readonly clock?: Clock;
}

/** Starts containerd and an agent; both end with the test. */
export async function containerdFixture(
  t: Test,
  {
    dialect = orchDialect,
    args = [],
    between,
    timeoutMs,
    disks = {},
    clock = realClock,
  }: ContainerdFixtureOptions = {},
): Promise<ContainerdFixture> {
  const dir = await mkdtemp(join(tmpdir(), 'na-'));
  for (const [path, disk] of Object.entries(disks)) {
    await mkdir(join(dir, path), { recursive: true });
    // Unmounted with everything else below the directory.
    await mountSmallDisk(join(dir, path), disk);
  }
  const log = pino({ level: process.env['LOG'] ?? 'silent' }, pino.destination(2));
  // A random range, since the bridge of an earlier run may still exist.
  const podPrefix = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.`;
  const runtimeOptions = { dir, podCIDR: `${podPrefix}0/24`, sandboxImage: clusterImages('test').pause };
  let containerd: Containerd = await startContainerd(runtimeOptions);
  const missingFields = new MissingFields();
  const cri = new GrpcCRI({ endpoint: containerd.endpoint, clock: realClock, inspector: missingFields });
  t.teardown(async () => {
    await removeAllSandboxes(cri);
    await cri.close();
    await containerd.stop();
    await cleanContainerd(dir);
    await rm(dir, { recursive: true });
  });
  const api = new FakeApi({ dialect, clock: realClock, resources: testResources });
  const images = await buildImageArchive({ file: join(dir, 'images.tar'), product: 'test' });
  await loadImageArchive(join(dir, 'images.tar'), containerd.socket);
  const endpoint = await between?.({ dir, socket: containerd.socket });
  const ofAgent =
    endpoint === undefined
      ? cri
      : new GrpcCRI({ endpoint, clock: realClock, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  if (ofAgent !== cri) t.teardown(() => ofAgent.close());
  const server = standardServer({ client: api.client, dialect, clock: realClock, random: Math.random, log, nodeName });
  const start = () =>
    startAgent({
      api,
      log,
      dialect,
      clock,
      args: [
        '--port=0',
        '--read-only-port=0',
        '--address=127.0.0.1',
        '--cert-dir=',
        `--root-dir=${dir}/agent`,
        `--pod-logs-dir=${dir}/logs`,
        '--node-ip=127.0.0.1',
        '--allowed-unsafe-sysctls=net.core.*',
        '--pod-max-pids=200',
        `--pod-manifest-path=${dir}/manifests`,
        `--cgroup-root=${containerdPaths(dir).cgroupRoot}`,
        ...args,
      ],
      dependencies: {
        cri: ofAgent,
        machine: new LocalMachine(dir, realClock),
        checker: new RuntimeChecker(ofAgent, 'probe'),
        logFiles: new DiskLogFiles(),
        writeFiles: true,
        server,
      },
    });
  let fixture = start();
  t.teardown(() => fixture.stop());
  await fixture.agent.ready();
  const status = (name: string) => api.get(pods, `default/${name}`)?.status;
  return {
    dir,
    podPrefix,
    cri,
    api,
    images,
    missingFields,
    agent: () => fixture,
    async restartAgent(between) {
      await fixture.stop();
      await between?.();
      fixture = start();
      await fixture.agent.ready();
    },
    async restartRuntime(between) {
      process.kill(containerd.pid, 'SIGKILL');
      between();
      containerd = await startContainerd(runtimeOptions);
    },
    status,
    isReady: (name) => status(name)?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true,
    async remove(name, gracePeriodSeconds = 1) {
      await api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds });
      for (let i = 0; i < 2000 && api.get(pods, `default/${name}`) !== undefined; i++) await realClock.sleep(10);
      if (api.get(pods, `default/${name}`) !== undefined) throw new Error(`pod ${name} still exists after 20 seconds`);
    },
    describe: (name) => JSON.stringify([status(name), api.list(events).map((event) => event.message)], null, 1),
  };
}
