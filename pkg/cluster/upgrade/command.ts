/** `orch upgrade`: replaces the running programs of a cluster, or of a node, on this machine by these. */

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { stdout } from 'node:process';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { type Clock, realClock as clock, formatMicroTime } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { setUnschedulable } from '#client/drain/drain.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { saveFrom } from '#cluster/backup/save.js';
import { adminClient, nodeClient, requestTimeoutMs } from '#cluster/clients/api-clients.js';
import { drainNode, untilNodesReady } from '#cluster/clients/nodes.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { dataDir } from '#cluster/config/options.js';
import { type ClusterSettings, joinedOf, readSettings } from '#cluster/config/settings.js';
import { runningEtcd } from '#cluster/etcd/access.js';
import { type ProcessIdentity, readIdentity } from '#cluster/process/identity.js';
import { type ProgressSink, progressPrinter, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import { deprecatedRequests, freeBytes, nodeFacts, storeFacts, versionOfServer } from '#cluster/upgrade/facts.js';
import { type Finding, findingsOf, type UpgradeFacts } from '#cluster/upgrade/findings.js';
import { replacePrograms } from '#cluster/upgrade/replace-programs.js';
import { runningProgram } from '#cluster/upgrade/running-program.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { type VersionInfo, versionInfo } from '#daemon/version.js';

type UpgradeOptions = OptionValues<typeof upgradeOptions>;

/** Longest time until the nodes of this machine are Ready again; ms. */
const readyMs = 120_000;
const readingStep = 'stored objects read';
/** Size of a backup in snapshots: the snapshot, and the copy of it that is verified. */
const backupFactor = 2;

export interface Starters {
  /** Restarts, in the background, a cluster or node that was started in a terminal. */
  readonly startAgain: (subcommand: string, args: readonly string[]) => Promise<void>;
}

interface Upgrade {
  readonly options: UpgradeOptions;
  readonly layout: Layout;
  readonly settings: ClusterSettings;
  readonly identity: ProcessIdentity;
  readonly sink: ProgressSink;
}

/** Exit code 1 when a finding blocks the upgrade. */
export async function upgrade(argv: readonly string[], { startAgain }: Starters): Promise<number> {
  const description =
    'Replace the running programs of a cluster, or of the node on this machine, by these. Pods keep running. Upgrade servers first, one by one, then nodes.';
  const parsed = commandOptions(upgradeOptions, argv, { program: 'orch upgrade', description });
  if (parsed === undefined) return 0;
  const options = parsed.values;
  const layout = layoutOf(resolve(options['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings === undefined) throw new SetupError(`${layout.root} holds no cluster; give its --data-dir`);
  const identity = readIdentity(layout.process);
  const starter = joinedOf(settings) === undefined ? 'orch up' : 'orch join';
  if (identity === undefined)
    throw new SetupError(`nothing in ${layout.root} is running; start it with these programs: ${starter}`);
  if (settings.store === 'memory')
    throw new SetupError(`the cluster in ${layout.root} keeps its objects in memory and would lose them at a restart`);
  const work: Upgrade = { options, layout, settings, identity, sink: progressPrinter(stdout, clock) };
  const client = await clientOf(work);
  try {
    const running = await versionOfServer(client).catch((error: unknown) => {
      throw new SetupError(`the API server does not answer, so the upgrade cannot be checked: ${messageOf(error)}`);
    });
    const own = versionInfo(dialectByName(settings.dialect));
    stdout.write(`From ${named(running)} to ${named(own)}\n`);
    const findings = findingsOf(await gatherFacts(work, client, running, own));
    stdout.write(describe(findings));
    if (findings.some(({ blocks }) => blocks)) return 1;
    if (options.check) return 0;
    await carryOut(work, client, startAgain);
  } finally {
    await client.close();
  }
  stdout.write(`\nDone. To go back, run with the former programs: orch upgrade --rollback --data-dir ${layout.root}\n`);
  return 0;
}

async function carryOut(work: Upgrade, client: RestClient, startAgain: Starters['startAgain']): Promise<void> {
  const { layout, settings, identity, options, sink } = work;
  const isServer = settings.joined === undefined;
  // Read before any change: without it the former programs could not be restarted.
  const program = runningProgram(identity.pid);
  const release = isServer ? await acquireLease(client, hostname(), clock) : undefined;
  try {
    if (isServer && options.backup) await backUp(work);
    if (options.drain)
      for (const name of settings.nodes)
        await step(sink, `node ${name} drained`, () => drainNode(client, name, options.timeout));
    const untilReady = () => untilNodesReady(client, settings.nodes, AbortSignal.timeout(readyMs));
    await replacePrograms({ layout, identity, program, clock, sink, startAgain, untilReady });
    if (options.drain) for (const name of settings.nodes) await setUnschedulable(client, name, false);
  } finally {
    await release?.(client);
  }
}

/** Shows the number of objects on a terminal; a log gets only the final line. */
function progressOf(sink: ProgressSink): (objects: number) => void {
  return (objects) => {
    if (stdout.isTTY) sink({ step: readingStep, state: 'waiting', note: `${objects} so far` });
  };
}

async function gatherFacts(
  { options, layout, settings, sink }: Upgrade,
  client: RestClient,
  running: VersionInfo,
  own: VersionInfo,
): Promise<UpgradeFacts> {
  const versions = { own: own.gitVersion, running: running.gitVersion, isRollback: options.rollback };
  const nothing = { nodes: [], stored: undefined, etcd: undefined, deprecated: [], disk: undefined };
  if (settings.joined !== undefined) return { ...versions, ...nothing, role: 'node' };
  // The operator of a foreign etcd checks it.
  const etcd = runningEtcd(layout, settings);
  const store =
    etcd === undefined
      ? undefined
      : await step(
          sink,
          readingStep,
          () => storeFacts(etcd, client.dialect, progressOf(sink)),
          ({ stored }) => `${stored.objects} objects`,
        );
  const folder = backupFolder(options, layout);
  return {
    ...versions,
    role: 'server',
    nodes: await nodeFacts(client),
    stored: store?.stored,
    etcd: store?.etcd,
    deprecated: await deprecatedRequests(client),
    disk:
      options.backup && store !== undefined
        ? { folder, free: await freeBytes(folder), needed: backupFactor * store.bytes }
        : undefined,
  };
}

async function backUp({ layout, options, settings, sink }: Upgrade): Promise<void> {
  const etcd = runningEtcd(layout, settings);
  if (etcd === undefined) {
    stdout.write('No backup is made: the cluster uses a foreign etcd.\n');
    return;
  }
  const to = backupFolder(options, layout);
  const own = { layout, dialect: settings.dialect };
  await step(
    sink,
    'backup saved',
    () => saveFrom(etcd, own, to),
    ({ folder }) => folder,
  );
}

function backupFolder(options: UpgradeOptions, layout: Layout): string {
  return resolve(options['backup-to'] ?? layout.backups);
}

/** A client of the administrator; on a mere node, of the node. */
function clientOf({ layout, settings }: Upgrade): Promise<RestClient> {
  return settings.joined === undefined
    ? adminClient(layout, settings, { timeoutMs: requestTimeoutMs })
    : nodeClient(layout, settings);
}

function describe(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'Nothing is in the way.\n';
  return findings.map(({ blocks, what, remedy }) => `  ${blocks ? '✗' : '!'} ${what}\n      ${remedy}\n`).join('');
}

function named({ gitVersion, gitCommit }: VersionInfo): string {
  return gitCommit === '' ? gitVersion : `${gitVersion} (${gitCommit.slice(0, 8)})`;
}

const upgradeOptions = {
  ...dataDir,
  check: { type: 'bool', section: 'Upgrade', meaning: 'Only print the findings; change nothing.' },
  rollback: {
    type: 'bool',
    section: 'Upgrade',
    meaning: 'Go back: these programs are of an older release than the running ones.',
  },
  drain: {
    type: 'bool',
    section: 'Upgrade',
    meaning: 'Evict the pods of this machine before. Default: they stay, and their containers keep running.',
  },
  timeout: {
    type: 'duration',
    default: 300_000,
    section: 'Upgrade',
    meaning: 'Longest wait until the pods are evicted; 0 for no limit. Disruption budgets may delay them.',
  },
  backup: { type: 'bool', default: true, section: 'Backup', meaning: 'Make a backup before.' },
  'backup-to': {
    type: 'string',
    section: 'Backup',
    meaning: 'Folder of the backup. Default: the data directory with -backups after its name.',
  },
} as const satisfies OptionTable;

const name = 'orch-upgrade';
/** Longest time for which an interrupted upgrade blocks others. */
const durationSeconds = 900;

/**
 * Acquires the lease of upgrades, since servers of a cluster are upgraded one at a time. Resolves with a function that
 * releases it. Rejects with a SetupError while another server is being upgraded.
 */
async function acquireLease(client: Client, holder: string, clock: Clock): Promise<(client: Client) => Promise<void>> {
  const namespace = client.dialect.namespaces.system;
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime: formatMicroTime(clock.now()),
    renewTime: formatMicroTime(clock.now()),
  };
  const lease = await client.resource(leases).get(name, { namespace }).catch(unlessNotFound);
  try {
    if (lease === undefined) await client.resource(leases).create({ metadata: { name, namespace }, spec });
    else {
      refuseHeld(lease, holder, clock.now());
      await client.resource(leases).update({ ...lease, spec });
    }
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error))
      throw new SetupError('another server has just begun its upgrade; wait until it is done');
    throw error;
  }
  return async (currentClient) => {
    await currentClient.resource(leases).delete(name, { namespace }).catch(unlessNotFound);
  };
}

function refuseHeld({ spec }: Lease, holder: string, now: number): void {
  const { holderIdentity = '', renewTime, leaseDurationSeconds = durationSeconds } = spec ?? {};
  if (holderIdentity === '' || holderIdentity === holder) return;
  const ends = Date.parse(renewTime ?? '') + leaseDurationSeconds * 1000;
  if (!(ends > now)) return;
  throw new SetupError(
    `server ${holderIdentity} is being upgraded; wait until it is done, or, if it was interrupted, until ${new Date(ends).toISOString()}`,
  );
}

function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
