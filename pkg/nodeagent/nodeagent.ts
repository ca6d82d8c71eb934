/** The node agent: registers the node, runs the pods bound to it, and serves their logs and sessions. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { nodes, pods, services } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { type Deferred, deferred } from '#apimachinery/deferred.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { value } from '#apimachinery/quantity.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder, type EventRecorder } from '#client/events/recorder.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { KeyedBackoff } from '#client/keyed-backoff.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { cgroupVersion } from '#nodeagent/containerd/machine.js';
import type { CRI, DNSConfig } from '#nodeagent/cri/cri.js';
import { parseResolvConf } from '#nodeagent/environment/dns.js';
import { PodEvents } from '#nodeagent/events/pod-events.js';
import { pullCredentials } from '#nodeagent/images/credentials.js';
import { ImagePuller } from '#nodeagent/images/puller.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import { LogRotator } from '#nodeagent/logs/rotator.js';
import { registerAgentMetrics } from '#nodeagent/metrics.js';
import { NodeLease } from '#nodeagent/node/lease.js';
import { LocalMachine, type Machine } from '#nodeagent/node/machine.js';
import { NodeRegistrar } from '#nodeagent/node/registrar.js';
import { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { parseTaint } from '#nodeagent/options/taint.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import { PodManager, podsOfNode } from '#nodeagent/pods/manager.js';
import { type Checker, RuntimeChecker } from '#nodeagent/probes/checker.js';
import { Prober } from '#nodeagent/probes/prober.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { AgentServer, AgentServerFactory } from '#nodeagent/server/agent-server.js';
import { StatusManager } from '#nodeagent/status/manager.js';
import { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';

export interface NodeAgentDependencies {
  /** Started and ended by the caller; may be shared by the node agents of a process, with all that they watch. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly cri: CRI;
  /** The node's name, in lower case. */
  readonly nodeName: string;
  /** Default: the machine that this process runs on. */
  readonly machine?: Machine;
  /** Default: checks through the runtime and the network. */
  readonly checker?: Checker;
  /** Default: files on disk. */
  readonly logFiles?: LogFiles;
  /** False for runtimes whose containers see no files: volumes are resolved, but nothing is written. Default true. */
  readonly writeFiles?: boolean;
  /** Default: an own one. Sharing it among the agents of a process shares the watches of ConfigMaps and Secrets. */
  readonly objects?: ReferencedObjects;
  /** For events and for the heartbeat, each with a rate of its own. Default: the client of `informers`. */
  readonly eventClient?: Client;
  readonly heartbeatClient?: Client;
  /** Default: events to the API. */
  readonly recorder?: EventRecorder;
  /** Takes the agent's series; one agent per registry. */
  readonly metrics?: Registry;
  /** Makes the server of logs and sessions; absent: there is none, and the node reports port 0. */
  readonly server?: AgentServerFactory;
}

/** Restarts of crashing containers wait 10 s, twice as long each time, 5 min at most. */
const restartBackOffMs = { initialMs: 10_000, maxMs: 300_000 };
const cgroupMountPoint = '/sys/fs/cgroup';

export class NodeAgent implements Daemon {
  readonly name: string;
  readonly #options: NodeAgentOptions;
  readonly #deps: NodeAgentDependencies;
  readonly #dialect: Dialect;
  readonly #ready: Deferred<void> = deferred();
  readonly #stop = new AbortController();
  readonly #machine: Machine;
  #work: Promise<void> | undefined;
  #server: AgentServer | undefined;
  #port = 0;

  constructor(options: NodeAgentOptions, dependencies: NodeAgentDependencies) {
    this.#options = options;
    this.#deps = dependencies;
    this.#dialect = dependencies.informers.client.dialect;
    this.name = this.#dialect.components.nodeAgent;
    this.#machine = dependencies.machine ?? new LocalMachine('/');
    this.#ready.promise.catch(() => undefined);
  }

  get nodeName(): string {
    return this.#deps.nodeName;
  }

  /** Port of the server, once it listens. */
  get port(): number {
    return this.#port;
  }

  async start(signal: AbortSignal): Promise<void> {
    const abort = () => this.#stop.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#work = this.#run(this.#stop.signal);
    try {
      await this.#work;
      this.#ready.reject(new Error('the node agent was stopped before it was ready'));
    } catch (error) {
      this.#ready.reject(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** The node is registered and Ready, and its pods are being run. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work?.catch(() => undefined);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { informers, log, cri, nodeName } = this.#deps;
    const podInformer = informers.informer(pods, podsOfNode(nodeName));
    const nodeInformer = informers.informer(nodes, { fieldSelector: `metadata.name=${nodeName}` });
    const serviceInformer = informers.informer(services);
    const recorder = this.#deps.recorder ?? this.#newRecorder();
    const labels = new RuntimeLabels(this.#dialect);
    const observer = new RuntimeObserver({ cri, clock: this.#deps.clock, log, labels });
    const registrar = this.#newRegistrar(observer);
    await registrar.prepare();
    const { context, stopAll, statuses } = await this.#build({
      observer,
      registrar,
      recorder,
      labels,
      podInformer,
      serviceInformer,
    });
    const manager = new PodManager(context, podInformer);
    context.onProbe((uid) => manager.poke(uid));
    const { metrics } = this.#deps;
    if (metrics !== undefined) {
      registerAgentMetrics({ registry: metrics, dialect: this.#dialect, nodeName, pods: () => observer.list() });
    }
    await this.#serve(context, manager);

    const running: Promise<void>[] = [];
    const failed = deferred();
    const run = (work: Promise<void>) => {
      work.catch(failed.reject);
      running.push(work);
    };
    try {
      const unsubscribe = nodeInformer.addHandler({
        onAdd: (node) => registrar.observe(node),
        onUpdate: (node) => registrar.observe(node),
        onDelete: () => registrar.observe(undefined),
      });
      signal.addEventListener('abort', unsubscribe, { once: true });
      const registered = deferred();
      run(registrar.run(signal, () => registered.resolve()));
      run(this.#newLease(registrar).run(signal));
      run(statuses.run(signal));
      // A runtime that is not there yet makes a node that is not ready, not an agent that gives up.
      await untilItWorks(() => observer.start(), { clock: this.#deps.clock, signal });
      await waitForSync([podInformer, serviceInformer], this.#deps.clock, signal);
      if (!signal.aborted) await manager.start();
      if (this.#deps.writeFiles !== false) run(this.#newRotator(context).run(signal));
      await Promise.race([registered.promise, failed.promise, aborted(signal)]);
      if (!signal.aborted) this.#ready.resolve();
      await Promise.race([failed.promise, aborted(signal)]);
    } finally {
      this.#stop.abort();
      await this.#server?.close();
      await manager.stop();
      observer.stop();
      stopAll();
      await Promise.allSettled(running);
      if (recorder instanceof ApiEventRecorder) await recorder.close();
    }
  }

  #newRecorder(): ApiEventRecorder {
    const { informers, eventClient = informers.client, clock, random, log, nodeName } = this.#deps;
    const source = { component: this.#dialect.components.nodeAgent, host: nodeName };
    return new ApiEventRecorder({ client: eventClient, source, clock, random, log });
  }

  #newRegistrar(observer: RuntimeObserver): NodeRegistrar {
    const { informers, heartbeatClient = informers.client, clock, log, cri, nodeName } = this.#deps;
    const values = this.#options;
    return new NodeRegistrar({
      client: heartbeatClient,
      clock,
      log,
      cri,
      machine: this.#machine,
      nodeName,
      register: values['register-node'],
      labels: values['node-labels'],
      taints: values['register-with-taints'].flatMap((text) => parseTaint(text) ?? []),
      unschedulable: !values['register-schedulable'],
      providerID: values['provider-id'] ?? '',
      nodeIPs: values['node-ip'],
      maxPods: values['max-pods'],
      podsPerCore: values['pods-per-core'],
      maxImages: values['node-status-max-images'],
      reservations: {
        system: values['system-reserved'],
        platform: values['orch-reserved'],
        evictionHard: parseEvictionThresholds(values['eviction-hard']).thresholds,
      },
      updateFrequencyMs: values['node-status-update-frequency'],
      reportFrequencyMs: values['node-status-report-frequency'],
      serverPort: () => this.#port,
      notReady: () => (observer.failing ? ['container runtime is down'] : []),
      onNode: (node) => {
        const cidr = node.spec.podCIDR ?? values['pod-cidr'] ?? '';
        if (cidr === '') return;
        cri
          .updateRuntimeConfig(cidr)
          .catch((error: unknown) => log.warn({ err: error }, 'telling the runtime the pod CIDR failed'));
      },
    });
  }

  #newRotator({ cri, logFiles, clock, log, observer }: PodContext): LogRotator {
    return new LogRotator({
      cri,
      files: logFiles,
      clock,
      log,
      pods: () => observer.list(),
      maxBytes: value(this.#options['container-log-max-size']),
      maxFiles: this.#options['container-log-max-files'],
    });
  }

  #newLease(registrar: NodeRegistrar): NodeLease {
    const { informers, heartbeatClient = informers.client, clock, log, nodeName } = this.#deps;
    return new NodeLease({
      client: heartbeatClient,
      clock,
      log,
      nodeName,
      leaseDurationSeconds: this.#options['node-lease-duration-seconds'],
      nodeUID: () => registrar.node?.metadata.uid,
    });
  }

  async #build(parts: {
    observer: RuntimeObserver;
    registrar: NodeRegistrar;
    recorder: EventRecorder;
    labels: RuntimeLabels;
    podInformer: Informer<Pod>;
    serviceInformer: Informer<import('#api/core/v1/types.gen.js').Service>;
  }): Promise<{
    context: PodContext & { onProbe(handler: (uid: string) => void): void };
    statuses: StatusManager;
    stopAll: () => void;
  }> {
    const { informers, clock, random, log, cri } = this.#deps;
    const { observer, registrar, recorder, labels, podInformer, serviceInformer } = parts;
    const values = this.#options;
    const { client } = informers;
    const dialect = this.#dialect;
    const rootDir = values['root-dir'];
    const directories =
      this.#deps.writeFiles === false ? undefined : await PodDirectories.open(rootDir, dialect.labelDomain);
    const objects = this.#deps.objects ?? new ReferencedObjects({ client, clock, random, log });
    const tokens = new TokenManager({ client, clock });
    const events = new PodEvents(recorder);
    const checker = this.#deps.checker ?? new RuntimeChecker(cri, `${dialect.product}-probe/1.24`);
    const statuses = new StatusManager({ client, clock, log, getPod: (uid) => podInformer.byIndex('uid', uid)[0] });
    let onProbe: (uid: string) => void = () => undefined;
    const prober = new Prober({ clock, events, checker, onChange: (uid) => onProbe(uid) });
    const quota = { enforced: values['cpu-cfs-quota'], periodMicros: values['cpu-cfs-quota-period'] * 1000 };
    const cgroups =
      directories === undefined || !values['cgroups-per-qos']
        ? undefined
        : new PodCgroups({
            mountPoint: cgroupMountPoint,
            version: await cgroupVersion(),
            root: values['cgroup-root'] === '' ? '/' : values['cgroup-root'],
            podsName: `${dialect.shortName}pods`,
            quota,
            onRefused: (path, error) => log.warn({ err: error, path }, 'a cgroup limit could not be set'),
          });
    const puller = new ImagePuller({
      images: cri,
      clock,
      events,
      serialize: values['serialize-image-pulls'],
      rate: { qps: values['registry-qps'], burst: values['registry-burst'] },
      credentials: (pod, image) => pullCredentials(pod, image, { objects, dialect }),
    });
    const context = {
      client,
      dialect,
      clock,
      log,
      cri,
      runtimeName: registrar.runtimeName,
      labels,
      observer,
      statuses,
      prober,
      checker,
      events,
      puller,
      objects,
      volumes: new PodVolumes(directories === undefined ? { objects, tokens } : { objects, tokens, directories }),
      ...(directories === undefined ? {} : { directories }),
      ...(cgroups === undefined ? {} : { cgroups }),
      logFiles: this.#deps.logFiles ?? new DiskLogFiles(),
      podLogsDir: values['pod-logs-dir'],
      restarts: new KeyedBackoff({ ...restartBackOffMs, now: () => clock.now() }),
      node: () => ({
        nodeName: this.nodeName,
        hostIPs: registrar.hostIPs,
        allocatable: registrar.resources.allocatable,
        memoryCapacityBytes: registrar.facts.memoryBytes,
      }),
      services: () => serviceInformer.list(),
      clusterDNS: { servers: values['cluster-dns'], domain: values['cluster-domain'] },
      hostDNS: hostDNSReader(values['resolv-conf'], clock),
      security: { seccompDefault: values['seccomp-default'], seccompProfileRoot: join(rootDir, 'seccomp') },
      quota,
      onProbe: (handler: (uid: string) => void) => {
        onProbe = handler;
      },
    };
    const stopAll = () => {
      prober.close();
      if (this.#deps.objects === undefined) objects.close();
    };
    return { context, statuses, stopAll };
  }

  async #serve(context: PodContext, manager: PodManager): Promise<void> {
    if (this.#deps.server === undefined || !this.#options['enable-server']) return;
    const machine = this.#machine;
    this.#server = await this.#deps.server({ context, pods: manager, options: this.#options, machine });
    this.#port = this.#server.port;
  }
}

/** How long the host's resolver configuration is taken to stay as it was read. */
const hostDNSMs = 10_000;

function hostDNSReader(path: string, clock: Clock): () => Promise<DNSConfig> {
  let known: { at: number; config: Promise<DNSConfig> } | undefined;
  return () => {
    if (known === undefined || clock.monotonic() - known.at > hostDNSMs) {
      known = { at: clock.monotonic(), config: hostDNS(path) };
    }
    return known.config;
  };
}

async function hostDNS(path: string): Promise<DNSConfig> {
  if (path === '') return { servers: [], searches: [], options: [] };
  try {
    return parseResolvConf(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { servers: [], searches: [], options: [] };
    throw error;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const retryMs = 1000;
const syncCheckMs = 20;

async function untilItWorks(work: () => Promise<void>, wait: { clock: Clock; signal: AbortSignal }): Promise<void> {
  while (!wait.signal.aborted) {
    try {
      await work();
      return;
    } catch {
      // The observer has told in its log.
      await wait.clock.sleep(retryMs, wait.signal);
    }
  }
}

async function waitForSync(informers: { hasSynced(): boolean }[], clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !informers.every((informer) => informer.hasSynced()))
    await clock.sleep(syncCheckMs, signal);
}
