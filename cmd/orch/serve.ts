/** Runs a cluster until it is told to stop: infrastructure first, daemons on top, and back down in reverse order. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { aborted } from '#apimachinery/async/aborted.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { clusterDomain } from '#cmd/orch/arguments.js';
import { saveFrom } from '#cmd/orch/backup/save.js';
import { ScheduledBackups } from '#cmd/orch/backup/scheduled.js';
import { startCertificateCare } from '#cmd/orch/certificate-care.js';
import { backgroundWork, type Closable } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/context/settings.js';
import type { ForeignEtcd, StartOptions } from '#cmd/orch/context/start-options.js';
import { type Infrastructure, serverForOthers, startInfrastructure } from '#cmd/orch/infrastructure.js';
import { removeIngressClass } from '#cmd/orch/ingress/set-up-ingress.js';
import { setUpJoiningAccess } from '#cmd/orch/joining/access.js';
import { type ClusterAddress, publishClusterInfo, publishedServer } from '#cmd/orch/joining/cluster-info.js';
import { publishNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { setUpLocalStorage } from '#cmd/orch/local-storage.js';
import { openSignal } from '#cmd/orch/members/open-signal.js';
import { untilNodesReady, untilPodsAreAdmitted } from '#cmd/orch/nodes/nodes-ready.js';
import { ensureEtcdPki } from '#cmd/orch/pki/etcd-pki.js';
import { etcdQuotaBytes } from '#cmd/orch/process/etcd.js';
import { leavingSignal, writeIdentity } from '#cmd/orch/process/identity.js';
import { readStart } from '#cmd/orch/read-start.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import type { ServeHooks } from '#cmd/orch/serve-hooks.js';
import { askServers } from '#cmd/orch/servers/ask-server.js';
import { stopParts } from '#cmd/orch/stop-parts.js';
import { etcdAccess, openLastingStore } from '#cmd/orch/store/etcd-access.js';
import { type ServeMessage, step } from '#cmd/orch/terminal/progress.js';
import { createLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { EtcdUpkeep } from '#etcd-admin/upkeep.js';

/** Longest time from the API server's first answer until all nodes are Ready; ms. */
const nodesReadyMs = 120_000;
/** Longest wait for one part to stop; ms. */
const partLimitMs = 20_000;
/** Longest wait for a start that is under way when the cluster is told to stop; ms. */
const startingLimitMs = 10_000;
const lingerMs = 1000;

/** The background process: settings from the data directory, progress to the parent. */
export async function serve(argv: readonly string[], guarded: GuardedProcess): Promise<number> {
  const start = readStart(argv[0] ?? '');
  const settings = readSettings(layoutOf(start.dataDir).settings);
  if (settings === undefined) throw new Error(`${start.dataDir} holds no cluster`);
  const tell = (message: ServeMessage) => {
    // Whoever started it may be gone: then there is nobody to tell.
    if (process.connected === true) process.send?.(message, undefined, undefined, () => undefined);
  };
  try {
    return await serveCluster(start, settings, {
      guarded,
      progress: tell,
      onReady: async () => {
        tell({ state: 'ready' });
      },
    });
  } catch (error) {
    tell({ state: 'error', message: messageOf(error) });
    throw error;
  }
}

/** Resolves with the exit code once the cluster has stopped. Rejects when it could not be started. */
export async function serveCluster(given: StartOptions, settings: ClusterSettings, hooks: ServeHooks): Promise<number> {
  const { guarded } = hooks;
  // The other servers know it by this one.
  const start = { ...given, advertiseAddress: given.advertiseAddress ?? settings.server?.address };
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
      // The second signal does not wait.
      if (stop.signal.aborted) process.exit(1);
      leavesPods = signal === leavingSignal;
      stop.abort();
    });
  }
  const running: Closable[] = [];
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
  // Before anything is started: whoever stops a cluster that is still starting must find it.
  mkdirSync(layout.run, { recursive: true, mode: 0o700 });
  writeIdentity(layout.process, process.pid);
  const startIt =
    settings.joined === undefined ? startCluster : (await import('#cmd/orch/joined-node.js')).startJoinedNode;
  const started = startIt(context, hooks, stop.signal);
  // Whoever waits below hears of a failure.
  started.catch(() => undefined);
  try {
    const cluster = await Promise.race([started, stopped]);
    if (cluster !== undefined) {
      // Unless it is told to leave them, it takes them down with it from now on.
      if (!stop.signal.aborted) leavesPods = false;
      await Promise.race([cluster.failed, stopped]);
    } else {
      // What is being started right now would outlive what is stopped.
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
    // Something that was not waited for, or forgot to let go, must not keep the process; this timer does not either.
    realClock.setTimer(() => {
      log.warn('something still runs in this process; ending it');
      process.exit();
    }, lingerMs);
  }
}

/** Resolves when pods can be created. Rejects when it could not be started, or `signal` aborted meanwhile. */
async function startCluster(
  context: ClusterContext,
  { progress, onReady }: ServeHooks,
  signal: AbortSignal,
): Promise<RunningCluster> {
  const { start, settings } = context;
  const infrastructure = await startInfrastructure(context);
  if (infrastructure.etcd !== undefined) startStoreCare(context, infrastructure.etcd);
  signal.throwIfAborted();
  // A process that only watches over others need not hold the daemons' code.
  const run = start.separate
    ? (await import('#cmd/orch/separate.js')).runSeparately
    : (await import('#cmd/orch/together.js')).runTogether;
  const cluster = await run(context, infrastructure);
  await openOnRequest(context, infrastructure, cluster);
  // Beside the nodes, which take longer.
  const joining = setUpJoining(context, infrastructure, cluster.client);
  joining.catch(() => undefined);
  if (start.localStorage) await setUpLocalStorage(cluster.client);
  if (start.ingress === undefined) await removeIngressClass(cluster.client);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(nodesReadyMs)]);
  const count = `${settings.nodes.length} of ${settings.nodes.length}`;
  await step(
    progress,
    'nodes Ready',
    () => untilNodesReady(cluster.client, settings.nodes, patience),
    () => count,
  );
  await untilPodsAreAdmitted(cluster.client, patience);
  await joining;
  startCertificateCare(context, cluster);
  await onReady();
  return cluster;
}

/**
 * Opens the cluster of one machine to more servers, without an end of anything but its etcd, which is started once more
 * to listen for the others: about a second in which requests wait, once in the life of a cluster. A single member
 * listens on loopback alone, since most clusters never have another one. A signal asks for it, after the settings say
 * at which address: a process that may send that signal may do all of this anyway.
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
      // Before another server can be there.
      await elect?.(server.name);
      await ensureEtcdPki(layout.pki, { now: clock.now(), ips: [server.address] });
      await etcdProgram.restart();
      const { membership } = await import('#cmd/orch/members/membership.js');
      await membership(context, server).settle();
      log.info({ address: server.address }, 'the cluster is open to more servers');
    } catch (error) {
      isOpen = false;
      log.error({ problem: messageOf(error) }, 'the cluster could not be opened to more servers');
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

/** Makes a cluster one that other machines can join. */
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
    isFirst || !(await isNamed(client, info, context.clock)) ? publishClusterInfo(client, info) : undefined,
    // The first server has said what is the same on all machines.
    isFirst
      ? publishNodeSettings(client, {
          ...{ podRange, serviceRange, clusterDomain },
          clusterDns: start.clusterDns,
          serviceProxy: start.serviceProxy,
        })
      : undefined,
  ]);
}

/** Whether the cluster names a server to those who come that is there. */
async function isNamed(client: Client, { ca }: ClusterAddress, clock: Clock): Promise<boolean> {
  const named = await publishedServer(client);
  if (named === undefined || !URL.canParse(named)) return false;
  return (await askServers({ ca, clock })(new URL(named).host)) === 'ready';
}

/** What a cluster does for its store while it runs: room is given back, and backups are made as they are planned. */
function startStoreCare(context: ClusterContext, etcd: ForeignEtcd): void {
  const { start, settings, layout, clock, log, running } = context;
  // Certificates may have been renewed since the last time.
  const access = () => etcdAccess(etcd);
  const backups = new ScheduledBackups({
    layout,
    clock,
    log,
    save: (to) => saveFrom(access(), { layout, dialect: settings.dialect }, to),
  });
  const work = (signal: AbortSignal) => {
    const all = [backups.run(signal)];
    // Operators look after an etcd of their own.
    if (start.foreignEtcd === undefined) {
      const store = openLastingStore(etcd);
      const openAdmin = async () => new (await import('#etcd-admin/admin.js')).EtcdAdmin(access());
      const upkeep = new EtcdUpkeep({ store, openAdmin, quotaBytes: etcdQuotaBytes, clock, log });
      all.push(upkeep.run(signal).finally(() => store.close()));
    }
    return Promise.all(all);
  };
  running.push(backgroundWork('care of the store', work));
}
