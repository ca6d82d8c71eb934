/** The volumes of a node with a CSI driver, on the fake API, for tests. */
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import {
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  secrets,
  serviceaccounts,
} from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeSpec, Pod, PodSpec, Volume } from '#api/core/v1/types.gen.js';
import { csidrivers, csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { CSIDriverSpec } from '#api/storage/v1/types.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { type CSIParts, composeCSI } from '#nodeagent/compose-csi.js';
import { attachmentName } from '#nodeagent/csi/volumes/paths.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { PodEvents } from '#nodeagent/events/pod-events.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { TestDriver, type TestDriverOptions } from '#nodeagent/testing/csi-driver.js';
import { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';
import { VolumesError } from '#nodeagent/volumes/volume-error.js';
import { VolumeMounter } from '#nodeagent/volumes/volume-mounter.js';

export const driverName = 'test.driver';
const nodeName = 'node-1';

export interface CSINodeOptions {
  readonly clock?: Clock;
  readonly dialect?: Dialect;
  readonly args?: readonly string[];
  readonly driver?: Partial<TestDriverOptions>;
  /** Of the driver's object; absent: the driver has none. */
  readonly object?: Partial<CSIDriverSpec>;
}

/** An agent's volumes from its start to its end. */
export interface CSIAgent {
  readonly csi: CSIParts;
  readonly volumes: PodVolumes;
  stop(): Promise<void>;
}

export class CSITestNode {
  readonly api: FakeApi;
  readonly driver: TestDriver;
  readonly dir: string;
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly socket: string;
  /** `reason: message` of all events. */
  readonly events: string[] = [];
  /** The metrics of the last agent. */
  registry = new Registry();
  readonly #options: CSINodeOptions;
  readonly #agents: CSIAgent[] = [];
  #isCleaned = false;

  private constructor(dir: string, options: CSINodeOptions) {
    const { clock = realClock, dialect = orchDialect } = options;
    this.#options = options;
    this.dir = dir;
    this.clock = clock;
    this.dialect = dialect;
    this.socket = join(dir, 'csi.sock');
    this.driver = new TestDriver({ dir: join(dir, 'data'), socket: this.socket, ...options.driver });
    const resources = [nodes, secrets, serviceaccounts, persistentvolumeclaims, persistentvolumes];
    this.api = new FakeApi({ dialect, clock, resources: [...resources, csidrivers, csinodes, volumeattachments] });
  }

  static async start(options: CSINodeOptions = {}): Promise<CSITestNode> {
    const dir = await realpath(await mkdtemp(join(tmpdir(), 'csi-')));
    const node = new CSITestNode(dir, options);
    await mkdir(node.root);
    await mkdir(join(dir, 'data'));
    await node.driver.start();
    node.api.seed(nodes, { metadata: { name: nodeName, uid: 'uid-of-node' }, spec: {}, status: {} });
    if (options.object !== undefined) node.setObject(options.object);
    return node;
  }

  /** The agent's root. */
  get root(): string {
    return join(this.dir, 'root');
  }

  setObject(spec: Partial<CSIDriverSpec>): void {
    const defaults = { attachRequired: false, podInfoOnMount: false, volumeLifecycleModes: ['Persistent'] };
    const more = { fsGroupPolicy: 'ReadWriteOnceWithFSType', requiresRepublish: false };
    this.api.seed(csidrivers, { metadata: { name: driverName }, spec: { ...defaults, ...more, ...spec } });
  }

  /** Starts an agent, whose driver is registered at once unless `registers` is false. */
  async agent({ registers = true }: { readonly registers?: boolean } = {}): Promise<CSIAgent> {
    const { clock, api, root, dialect } = this;
    const { client } = api;
    const informers = new SharedInformerFactory({ client, clock, random: () => 0.5, log: silentLogger });
    const stop = new AbortController();
    const args = ['--root-dir', root, ...(this.#options.args ?? [])];
    const parsed = parseOptions(nodeAgentOptionTable(dialect), args, { program: 'nodeagent' });
    if (parsed.kind !== 'run') throw new Error('not an option list to run with');
    const recorder = {
      record: (_target: unknown, _type: string, reason: string, message: string) => {
        this.events.push(`${reason}: ${message}`);
      },
    };
    const events = new PodEvents(recorder);
    const tokens = new TokenManager({ client, clock });
    const directories = await PodDirectories.open(root, dialect.labelDomain);
    this.registry = new Registry();
    const deps = { informers, clock, random: () => 0.5, log: silentLogger, nodeName, metrics: this.registry };
    const node = informers.informer(nodes, { fieldSelector: `metadata.name=${nodeName}` });
    const csi = await composeCSI(parsed.values, deps as unknown as NodeAgentDependencies, {
      ...{ node, recorder, events, tokens },
      onRegistered: () => undefined,
      registrar: { poke: () => this.#report(csi) },
    });
    const factory = informers.start(stop.signal);
    const objects = new ReferencedObjects({ client, clock, random: () => 0.5, log: silentLogger });
    const mounter = new VolumeMounter({
      ...{ dialect, directories, events, limitsMemory: false, csi: csi.volumes },
      node: () => node.get(nodeName) ?? { metadata: { name: nodeName }, spec: {} },
    });
    const volumes = new PodVolumes({ ...{ clock, client, objects, tokens, directories, mounter }, csi: csi.volumes });
    await csi.volumes.reconstruct(await directories.list());
    if (registers) await csi.handler.register({ name: driverName, endpoint: this.socket, versions: ['1.0.0'] });
    const agent = {
      ...{ csi, volumes },
      stop: async () => {
        csi.close();
        stop.abort();
        objects.close();
        await factory;
      },
    };
    this.#agents.push(agent);
    return agent;
  }

  /** What the node's status says about volumes. */
  #report(csi: CSIParts | undefined): void {
    const volumesInUse = csi?.volumes.inUse();
    if (volumesInUse === undefined) return;
    this.api.change(nodes, nodeName, (node) => {
      node.status = { ...node.status, volumesInUse };
    });
  }

  /** As the controllers do: attaches a volume of the driver to the node. */
  attach(handle: string, status: { attached: boolean; attachmentMetadata?: Record<string, string> }): void {
    const name = attachmentName(handle, driverName, nodeName);
    const spec = { attacher: driverName, nodeName, source: { persistentVolumeName: `pv-${handle}` } };
    this.api.seed(volumeattachments, { metadata: { name }, spec, status });
    this.api.change(nodes, nodeName, (node) => {
      const attached = { name: `${this.dialect.labelDomain}/csi/${driverName}^${handle}`, devicePath: '' };
      node.status = { ...node.status, volumesAttached: [...(node.status?.volumesAttached ?? []), attached] };
    });
  }

  /** Creates a persistent volume of the driver and a claim, both for one handle; returns a pod's volume for it. */
  persist(handle: string, spec: Partial<PersistentVolumeSpec> = {}): Volume {
    const uid = `uid-of-${handle}`;
    const { csi, ...more } = spec;
    this.api.seed(persistentvolumeclaims, {
      metadata: { name: handle, namespace: 'default', uid },
      spec: { volumeName: `pv-${handle}` },
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    });
    this.api.seed(persistentvolumes, {
      metadata: { name: `pv-${handle}` },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        claimRef: { uid, name: handle, namespace: 'default' },
        csi: { driver: driverName, volumeHandle: handle, ...csi },
        ...more,
      },
    });
    return { name: handle, persistentVolumeClaim: { claimName: handle } };
  }

  /** Mounts everything below the root. */
  async mounts(): Promise<string[]> {
    return (await mountsBelow(this.root)).map((path) => path.slice(this.root.length + 1)).sort();
  }

  /** Files and directories of the plugin, without those that all volumes share. */
  async files(): Promise<string[]> {
    const dir = join(this.root, 'plugins', this.dialect.labelDomain, 'csi');
    const shared = new Set([driverName, 'volumeDevices', 'volumeDevices/staging', 'volumeDevices/publish']);
    return (await readdir(dir, { recursive: true })).filter((name) => !shared.has(name));
  }

  async clean(): Promise<void> {
    if (this.#isCleaned) return;
    this.#isCleaned = true;
    for (const agent of this.#agents) await agent.stop();
    this.driver.fault = undefined;
    this.driver.release();
    await this.driver.clean();
    await this.driver.stop();
    await rm(this.dir, { recursive: true });
  }
}

const facts = { nodeName, hostIP: '', allocatable: { memory: '1Gi' }, podIPs: [] };

/** Sets up a pod's volumes; undefined if it works, else the messages of the events. */
export async function setUp(
  agent: CSIAgent,
  pod: Pod,
  signal: AbortSignal = new AbortController().signal,
): Promise<string[] | undefined> {
  try {
    await agent.volumes.setUp(pod, { facts, signal });
    return undefined;
  } catch (error) {
    if (!(error instanceof VolumesError)) throw error;
    return error.events.map(({ reason, message }) => `${reason}: ${message}`);
  }
}

/** A pod with one container that uses all of the volumes; those in `devices` as devices. */
export function podWith(
  uid: string,
  volumes: readonly Volume[],
  { devices = [], ...spec }: Partial<PodSpec> & { readonly devices?: readonly string[] } = {},
): Pod {
  const mounted = volumes.filter(({ name }) => !devices.includes(name));
  const volumeMounts = mounted.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const volumeDevices = devices.map((name) => ({ name, devicePath: `/dev/${name}` }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: {
      ...{ nodeName, serviceAccountName: 'default', volumes: [...volumes] },
      containers: [{ name: 'c', volumeMounts, volumeDevices }],
      ...spec,
    },
  };
}
