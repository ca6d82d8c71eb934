/** Runs a cluster until a signal stops it: starts infrastructure, then daemons, and stops them in reverse order. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { aborted } from '#apimachinery/async/abort.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { saveFrom } from '#cluster/backup/save.js';
import { ScheduledBackups } from '#cluster/backup/scheduled.js';
import { untilNodesReady, untilPodsAreAdmitted } from '#cluster/clients/nodes.js';
import { serverChecker } from '#cluster/clients/server-health.js';
import {
  backgroundWork,
  type ClusterContext,
  type Part,
  type RunningCluster,
  type ServeHooks,
} from '#cluster/config/cluster-context.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { type ClusterSettings, readSettings } from '#cluster/config/settings.js';
import { type ForeignEtcd, readStart, type StartOptions } from '#cluster/config/start-options.js';
import { etcdAccess, openLastingStore } from '#cluster/etcd/access.js';
import { etcdQuotaBytes } from '#cluster/etcd/etcd-child.js';
import { type ClusterAddress, publishClusterInfo, publishedServer } from '#cluster/objects/cluster-info.js';
import { removeIngressClass } from '#cluster/objects/ingress.js';
import { setUpJoiningAccess } from '#cluster/objects/joining-access.js';
import { setUpLocalStorage } from '#cluster/objects/local-storage.js';
import { publishNodeSettings } from '#cluster/objects/node-settings.js';
import { startCertificateRenewal } from '#cluster/pki/certificate-renewal.js';
import { ensureEtcdPki } from '#cluster/pki/etcd-pki.js';
import { leavingSignal, openSignal, writeIdentity } from '#cluster/process/identity.js';
import { clusterDomain } from '#cluster/supervise/arguments.js';
import { type Infrastructure, serverForOthers, startInfrastructure } from '#cluster/supervise/infrastructure.js';
import { stopParts } from '#cluster/supervise/stop-parts.js';
import { runDaemons } from '#cluster/supervise/supervisor.js';
import { type ServeMessage, step } from '#cluster/terminal/progress.js';
import { createLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { EtcdUpkeep } from '#etcd-admin/upkeep.js';

/** Longest time from the API server's first answer until all nodes are Ready; ms. */
const nodesReadyMs = 120_000;
/** Longest wait for one part to stop; ms. */
const partLimitMs = 20_000;
/** Longest wait for an unfinished start when the cluster is stopped; ms. */
const startingLimitMs = 10_000;
/** Time until the process exits after all parts have stopped. */
const exitDelayMs = 1000;

/** The background process: reads settings from the data directory, and reports progress to its parent. */
export async function serve(argv: readonly string[], guarded: GuardedProcess): Promise<number> {
  const start = readStart(argv[0] ?? '');
  const settings = readSettings(layoutOf(start.dataDir).settings);
  if (settings === undefined) throw new Error(`${start.dataDir} holds no cluster`);
  const report = (message: ServeMessage) => {
    // The parent may have exited.
    if (process.connected === true) process.send?.(message, undefined, undefined, () => undefined);
  };
  try {
    return await serveCluster(start, settings, {
      guarded,
      progress: report,
      onReady: async () => {
        report({ state: 'ready' });
      },
    });
  } catch (error) {
    report({ state: 'error', message: messageOf(error) });
    throw error;
  }
}

/** Resolves with the exit code once the cluster has stopped. Rejects when it could not be started. */
export async function serveCluster(
  options: StartOptions,
  settings: ClusterSettings,
  hooks: ServeHooks,
): Promise<number> {
  const { guarded } = hooks;
  // The other servers know this one by its etcd address.
  const start = { ...options, advertiseAddress: options.advertiseAddress ?? settings.server?.address };
  const layout = layoutOf(start.dataDir);
  const dialect = dialectByName(settings.dialect);
  const verbosity = new Verbosity({ level: start.verbosity });
  const log = createLogger({
    name: 'orch',
    format: 'text',
    verbosity,
    pid: guarded.pid,
    now: () => realClock.now(),
    write: (line) => guarded.stderr.write(line),
  });
  guarded.reportTo(log, () => undefined);
  const stop = new AbortController();
  let leavesPods = start.takesOver === true;
  for (const signal of ['SIGINT', 'SIGTERM', leavingSignal] as const) {
    process.on(signal, () => {
      // A second signal exits at once.
      if (stop.signal.aborted) process.exit(1);
      leavesPods = signal === leavingSignal;
      stop.abort();
    });
  }
  const running: Part[] = [];
  const context = {
    start,
    settings,
    layout,
    dialect,
    clock: realClock,
    log,
    verbosity,
    progress: hooks.progress,
    running,
    process: guarded,
  };
  const stopped = aborted(stop.signal);
  const hadPods = await hasPodsOfKilledRun(settings, layout);
  // Written before the start, so that `orch down` finds a cluster that is still starting.
  mkdirSync(layout.run, { recursive: true, mode: 0o700 });
  writeIdentity(layout.process, process.pid);
  const startParts =
    settings.joined === undefined ? startCluster : (await import('#cluster/supervise/joined-node.js')).startJoinedNode;
  const started = startParts(context, hooks, stop.signal);
  // The failure is handled below.
  started.catch(() => undefined);
  try {
    const cluster = await Promise.race([started, stopped]).catch((error: unknown) => {
      // The next start takes over the pods that this one could not.
      leavesPods ||= hadPods;
      throw error;
    });
    if (cluster !== undefined) {
      // From now on pods stop with the cluster, unless the leaving signal comes.
      if (!stop.signal.aborted) leavesPods = false;
      await Promise.race([cluster.failed, stopped]);
    } else {
      // A part that is still starting would outlive the stopped ones.
      await Promise.race([started.catch(() => undefined), realClock.sleep(startingLimitMs)]);
    }
    return 0;
  } finally {
    await stopParts(running, {
      clock: realClock,
      log,
      limitMs: partLimitMs,
      onStopping: (name) => writeFileSync(layout.stopping, name),
      leavesPods,
    });
    rmSync(layout.stopping, { force: true });
    rmSync(layout.process, { force: true });
    // A forgotten handle must not keep the process alive; the timer itself does not.
    realClock.setTimer(() => {
      log.warn('exiting although the process has open handles');
      process.exit();
    }, exitDelayMs);
  }
}

/** Whether containers outlived the last process of this directory, as they do when it is killed. */
async function hasPodsOfKilledRun({ nodes, runtime }: ClusterSettings, layout: Layout): Promise<boolean> {
  if (runtime === 'simulated') return false;
  const { shimsOf } = await import('#containerd/remains.js');
  const shims = await Promise.all(nodes.map((name) => shimsOf(layout.runtime(name))));
  return shims.some(({ length }) => length > 0);
}

/** Resolves when pods can be created. Rejects when a part fails to start, or when `signal` aborts. */
async function startCluster(
  context: ClusterContext,
  { progress, onReady }: ServeHooks,
  signal: AbortSignal,
): Promise<RunningCluster> {
  const { start, settings } = context;
  const infrastructure = await startInfrastructure(context);
  if (infrastructure.etcd !== undefined) startStoreUpkeep(context, infrastructure.etcd);
  signal.throwIfAborted();
  // A process that only supervises children does not load the daemons' code.
  const Daemons = start.separate
    ? (await import('#cluster/supervise/children.js')).ChildDaemons
    : (await import('#cluster/supervise/in-process.js')).InProcessDaemons;
  const cluster = await runDaemons(context, infrastructure, new Daemons(context, infrastructure));
  await openOnRequest(context, infrastructure, cluster);
  // Runs while the nodes become Ready, which takes longer.
  const joining = setUpJoining(context, infrastructure, cluster.client);
  joining.catch(() => undefined);
  if (start.localStorage) await setUpLocalStorage(cluster.client);
  if (start.ingress === undefined) await removeIngressClass(cluster.client);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(nodesReadyMs)]);
  const count = `${settings.nodes.length} of ${settings.nodes.length}`;
  await step(
    progress,
    'nodes Ready',
    () => untilNodesReady(cluster.client, settings.nodes, timeout),
    () => count,
  );
  await untilPodsAreAdmitted(cluster.client, timeout);
  await joining;
  startCertificateRenewal(context, cluster);
  await onReady();
  return cluster;
}

/**
 * Opens a single-server cluster to more servers when `openSignal` comes, after the settings have got the server's
 * address. Only etcd restarts, to listen on that address: requests wait for about a second, once in the life of a
 * cluster. A single member listens on loopback, since most clusters never get a second server. A process that may send
 * the signal has the rights to do all of this itself.
 */
async function openOnRequest(
  context: ClusterContext,
  { etcdProgram }: Pick<Infrastructure, 'etcdProgram'>,
  { elect }: Pick<RunningCluster, 'elect'>,
): Promise<void> {
  const { clock, layout, log, running } = context;
  let isOpen = context.settings.server !== undefined;
  const open = async () => {
    const { server } = readSettings(layout.settings) ?? context.settings;
    if (isOpen || server === undefined || etcdProgram === undefined) return;
    isOpen = true;
    try {
      // The loops need their locks before another server can join.
      await elect?.(server.name);
      await ensureEtcdPki(layout.pki, { now: clock.now(), ips: [server.address] });
      await etcdProgram.restart();
      const { membership } = await import('#cluster/members/etcd-membership.js');
      await membership(context, server).settle();
      log.info({ address: server.address }, 'cluster opened to more servers');
    } catch (error) {
      isOpen = false;
      log.error({ problem: messageOf(error) }, 'cannot open the cluster to more servers');
    }
  };
  let work = Promise.resolve();
  const onSignal = () => {
    work = work.then(open);
  };
  process.on(openSignal, onSignal);
  running.push({
    name: 'opening for servers',
    async close() {
      process.off(openSignal, onSignal);
      await work;
    },
  });
}

/** Creates the objects by which other machines join. */
async function setUpJoining(
  context: ClusterContext,
  { nodeIPs, pki }: Pick<Infrastructure, 'nodeIPs' | 'pki'>,
  client: Client,
): Promise<void> {
  const { settings, start } = context;
  const { podRange, serviceRange } = settings;
  const info = { server: serverForOthers(context, nodeIPs), ca: pki.authority.certificate };
  const isFirst = settings.server?.joined === undefined;
  await Promise.all([
    setUpJoiningAccess(client),
    isFirst || !(await hasReadyServer(client, info, context.clock)) ? publishClusterInfo(client, info) : undefined,
    // The first server publishes the settings that all machines share.
    isFirst
      ? publishNodeSettings(client, {
          ...{ podRange, serviceRange, clusterDomain },
          clusterDns: start.clusterDns,
          serviceProxy: start.serviceProxy,
        })
      : undefined,
  ]);
}

/** Whether the published cluster info names a server that is ready. */
async function hasReadyServer(client: Client, { ca }: ClusterAddress, clock: Clock): Promise<boolean> {
  const server = await publishedServer(client);
  if (server === undefined || !URL.canParse(server)) return false;
  return (await serverChecker({ ca, clock })(new URL(server).host)) === 'ready';
}

/** Compacts the store and makes scheduled backups while the cluster runs. */
function startStoreUpkeep(context: ClusterContext, etcd: ForeignEtcd): void {
  const { start, settings, layout, clock, log, running } = context;
  // Read anew each time, since certificates are renewed.
  const access = () => etcdAccess(etcd);
  const backups = new ScheduledBackups({
    layout,
    clock,
    log,
    save: (to) => saveFrom(access(), { layout, dialect: settings.dialect }, to),
  });
  const work = (signal: AbortSignal) => {
    const all = [backups.run(signal)];
    // The operator of a foreign etcd maintains it.
    if (start.foreignEtcd === undefined) {
      const store = openLastingStore(etcd);
      const openAdmin = async () => new (await import('#etcd-admin/admin.js')).EtcdAdmin(access());
      const upkeep = new EtcdUpkeep({ store, openAdmin, quotaBytes: etcdQuotaBytes, clock, log });
      all.push(upkeep.run(signal).finally(() => store.close()));
    }
    return Promise.all(all);
  };
  running.push(backgroundWork('upkeep of the store', work));
}
