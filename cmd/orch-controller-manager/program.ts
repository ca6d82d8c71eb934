/** The controller manager as a program. */

import { mkdir, rm } from 'node:fs/promises';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Client } from '#client/client.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import { recyclerTemplates } from '#cmd/orch-controller-manager/recycler-templates.js';
import { createControlLoop, type Loop, type LoopDependencies } from '#control-loop/control-loop.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import { controllerPages } from '#controllers/debug-pages.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { ControllerManager, type ControllerManagerDependencies, type ControllerReport } from '#controllers/manager.js';
import {
  defaultLeaderMigration,
  type LeaderMigration,
  parseLeaderMigration,
  placementOf,
} from '#controllers/options/leader-migration.js';
import { controllerNames, serviceAccountOf } from '#controllers/options/names.js';
import {
  type ControllerManagerOptionTable,
  controllerManagerOptions,
  controllerManagerRules,
} from '#controllers/options/options.js';
import type { HostDirectories } from '#controllers/persistentvolumebinder/host-path.js';
import { controllerGates } from '#controllers/registry.js';
import { cloudOf } from '#controllers/setup/cloud.js';
import { rootCertificates, serviceAccountKey, signingAuthorities } from '#controllers/setup/key-material.js';
import { FileFollower, textOf } from '#daemon/certificates/followed-file.js';
import { type Daemon, DaemonGroup } from '#daemon/daemon.js';
import { garbageCollector, IdleCollector } from '#daemon/memory/idle-collector.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import type { TokenSource } from '#http/client/credentials.js';
import { openLeaderLock } from '#storage/etcd/leader-lock.js';

type Context = ProgramContext<ControllerManagerOptionTable>;

/** `facts`: what the process metrics report. */
export function controllerManagerProgram(facts: ProcessFacts): Program<ControllerManagerOptionTable> {
  return {
    name: (dialect) => dialect.components.controllerManager,
    description: 'Runs the control loops that move the cluster from the state it is in to the state that is wanted.',
    options: controllerManagerOptions,
    rules: controllerManagerRules,
    actingGates: () => controllerGates,
    create: (context) => create(context, facts),
  };
}

async function create(context: Context, facts: ProcessFacts): Promise<Daemon> {
  const { values, dialect, clock, random, log } = context;
  const name = dialect.components.controllerManager;
  const metrics = createRegistry({ dialect, process: facts });
  const rootCA = await rootCertificates(values['root-ca-file']);
  const tokenKey = await serviceAccountKey(values['service-account-private-key-file']);
  const authorities = await signingAuthorities(values);
  const recyclers = await recyclerTemplates(values);
  const cloud = await cloudOf(values, dialect);
  const migration = await leaderMigration(context);
  if (values['use-service-account-credentials'] && tokenKey === undefined) {
    log.warn('--use-service-account-credentials was given without --service-account-private-key-file');
  }
  const loop = await createControlLoop({
    context,
    name,
    eventSource: name,
    metrics,
    configz: { [dialect.controllerManagerConfigGroup]: values },
    openEtcdLock: (where) => openLeaderLock({ values, clock, random, ...where }),
    create: (dependencies) => {
      const series = controllerMetrics(metrics);
      const make: MakeManager = ({ client, connection, leadership, owns }) =>
        new ControllerManager(values, {
          client,
          ...controllerClients(context, { connection, recorderFor: dependencies.recorderFor }),
          dialect,
          clock,
          random,
          log,
          metrics,
          series,
          ...(leadership === undefined ? {} : { leadership }),
          ...(owns === undefined ? {} : { owns }),
          ...(rootCA === undefined ? {} : { rootCA }),
          ...(tokenKey === undefined ? {} : { tokenKey }),
          ...(cloud === undefined ? {} : { cloud }),
          ...(dependencies.tracer === undefined ? {} : { tracer: dependencies.tracer }),
          authorities,
          recyclers,
          hostDirectories,
        });
      if (migration !== undefined) return migrating(context, migration, dependencies, make);
      const manager = make(dependencies);
      return loopOf(manager, [manager]);
    },
  });
  const collector = { clock, cpuUsage: () => facts.cpuUsage(), collect: garbageCollector() };
  const follower = new FileFollower([rootCA, tokenKey], { clock, log });
  return new DaemonGroup(name, [loop, follower, new IdleCollector(collector)]);
}

/** `elsewhere`: reports of the controllers that another process runs. */
function loopOf(
  loop: Daemon,
  managers: readonly ControllerManager[],
  elsewhere: readonly ControllerReport[] = [],
): Loop {
  const reports = (limit: number) => [...managers.flatMap((manager) => manager.reports(limit)), ...elsewhere];
  const names = reports(0).map(({ name }) => name);
  return {
    loop,
    checks: [() => managers.flatMap((manager) => manager.checks())],
    debug: controllerPages(names, reports),
  };
}

type MakeManager = (
  parts: Pick<LoopDependencies, 'client' | 'connection' | 'leadership'> & Pick<ControllerManagerDependencies, 'owns'>,
) => ControllerManager;

/**
 * Two managers: one runs the controllers that do not migrate, under the main lock; the other runs the migrating ones,
 * under the migration's lock. As in 1.24 a process competes for the second lock once it has held the first.
 */
async function migrating(
  { values, dialect }: Context,
  migration: LeaderMigration,
  dependencies: LoopDependencies,
  make: MakeManager,
): Promise<Loop> {
  const { leadership: main } = dependencies;
  if (main === undefined) throw new TypeError('migration without leader election');
  const component = dialect.components.controllerManager;
  const led = deferred();
  const staying = make({
    ...dependencies,
    leadership: announcing(main, () => led.resolve()),
    owns: (controller) => placementOf(migration, component, controller) === 'main',
  });
  const namespace = values['leader-elect-resource-namespace'];
  const lock = { kind: migration.resourceLock, namespace, name: migration.leaderName };
  const { connection, leadership } = await dependencies.elect(lock);
  const moving = make({
    client: connection.client('shared-informers'),
    connection,
    leadership: after(led.promise, leadership),
    owns: (controller) => placementOf(migration, component, controller) === 'migrated',
  });
  const elsewhere = Object.keys(controllerNames).filter(
    (controller) => placementOf(migration, component, controller) === 'elsewhere',
  );
  const reason = 'another manager runs it, as --leader-migration-config says';
  return loopOf(
    new DaemonGroup(component, [staying, moving]),
    [staying, moving],
    elsewhere.map((controller) => ({ name: controller, state: 'disabled', reason, loops: [] })),
  );
}

/** The same leadership; calls `leads` each time this process becomes the leader. */
function announcing(leadership: Leadership, leads: () => void): Leadership {
  return {
    lead: (work, signal) =>
      leadership.lead((leading) => {
        leads();
        return work(leading);
      }, signal),
  };
}

/** The same leadership, but the process competes for it only after `first` has resolved. */
function after(first: Promise<void>, leadership: Leadership): Leadership {
  return {
    async lead(work, signal) {
      const stopped = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([first, stopped]);
      await leadership.lead(work, signal);
    },
  };
}

/** Undefined if no controller migrates. Throws OptionsError. */
async function leaderMigration({ values, log }: Context): Promise<LeaderMigration | undefined> {
  const path = values['leader-migration-config'] ?? '';
  if (!values['enable-leader-migration'] || !values['leader-elect']) {
    if (values['enable-leader-migration']) {
      log.warn('--enable-leader-migration has no effect: leader election is off');
    } else if (path !== '') log.warn('--leader-migration-config has no effect without --enable-leader-migration');
    return undefined;
  }
  const migration =
    path === '' ? defaultLeaderMigration : parseLeaderMigration(await textOf('leader-migration-config', path), path);
  if (migration.resourceLock === 'etcdleases' && values['etcd-servers'].length === 0) {
    throw new OptionsError([`${path}: resourceLock etcdleases requires --etcd-servers`]);
  }
  return migration;
}

/**
 * Multiples of `--orch-api-qps` and `--orch-api-burst`, as in 1.24: deleting a namespace takes many calls, and a
 * deletion by the garbage collector two.
 */
const rates: Readonly<Record<string, { readonly qps: number; readonly burst: number }>> = {
  namespace: { qps: 20, burst: 100 },
  garbagecollector: { qps: 2, burst: 1 },
};

/**
 * How each controller calls the API server: as which user, and at which rate. Clients and recorders are created once and
 * reused each time the process becomes the leader again.
 */
function controllerClients(
  { values, dialect, clock }: ProgramContext<ControllerManagerOptionTable>,
  { connection, recorderFor }: Pick<LoopDependencies, 'connection' | 'recorderFor'>,
): Required<Pick<ControllerManagerDependencies, 'clientFor' | 'events'>> {
  // Token requests have a rate limit of their own, so that no other request delays them.
  const tokenClient = connection.client('token-requests');
  const tokenOf = memoized((controller: string): TokenSource | undefined => {
    // The token controller cannot use a token that only it can sign, and no service account may read all secrets.
    if (!values['use-service-account-credentials'] || controller === 'serviceaccount-token') return undefined;
    const account = { namespace: dialect.namespaces.system, name: serviceAccountOf(controller) };
    return new ServiceAccountToken({ client: tokenClient, clock, ...account });
  });
  const clientFor = memoized((controller: string): Client => {
    const token = tokenOf(controller);
    const { qps, burst } = rates[controller] ?? { qps: 1, burst: 1 };
    const rate = { qps: values['orch-api-qps'] * qps, burst: values['orch-api-burst'] * burst };
    return (token === undefined ? connection : connection.as(token)).client(serviceAccountOf(controller), rate);
  });
  const recorders = memoized((controller: string) =>
    memoized((component: string) => recorderFor(component, tokenOf(controller))),
  );
  return { clientFor, events: (component, controller) => recorders(controller)(component) };
}

/** Calls `make` once for each key. */
function memoized<V>(make: (key: string) => V): (key: string) => V {
  const values = new Map<string, V>();
  return (key) => {
    const value = values.get(key) ?? make(key);
    values.set(key, value);
    return value;
  };
}

/** Creates and removes directories on this machine, for volumes of `--enable-hostpath-provisioner`. */
export const hostDirectories: HostDirectories = {
  async make(path) {
    await mkdir(path, { recursive: true, mode: 0o750 });
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
};
