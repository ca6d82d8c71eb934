/** `orch leave`: takes this machine out of the cluster of which it is a node. */
import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { nodes } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { evictPods, setUnschedulable } from '#client/drain/drain.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, type JoinedCluster, readSettings } from '#cmd/orch/context/settings.js';
import { down } from '#cmd/orch/down.js';
import { leaveOptions } from '#cmd/orch/options.js';
import { askReady } from '#cmd/orch/servers/ask-ready.js';
import { KnownServers } from '#cmd/orch/servers/known-servers.js';
import { progressPrinter, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import { parseOptions } from '#daemon/options/parse.js';

export async function leave(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(leaveOptions, argv, { program: 'orch leave' });
  if (parsed.kind !== 'run') {
    const description =
      'Take this machine out of the cluster of which it is a node: its pods go elsewhere, then everything of it is removed.';
    process.stdout.write(helpText(leaveOptions, { program: 'orch leave', description }));
    return 0;
  }
  const { timeout, force } = parsed.values;
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings?.joined === undefined)
    throw new SetupError(`${layout.root} holds no node that has joined a cluster; a cluster is stopped by: orch down`);
  const sink = progressPrinter(process.stdout, realClock);
  const [name = ''] = settings.nodes;
  const client = await clientOf(layout, settings).catch(unlessForced(force));
  try {
    if (client !== undefined)
      await step(sink, 'pods evicted', () => drain(client, name, timeout)).catch(unlessForced(force));
    // Its agent would register it again.
    const code = await down(['--data-dir', layout.root]);
    if (code !== 0) return code;
    if (client !== undefined)
      await step(sink, 'node deleted', () => deleteNode(client, name)).catch(unlessForced(force));
  } finally {
    await client?.close();
  }
  rmSync(layout.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.stdout.write(`\nThis machine is no node of ${settings.joined.server} any more.\n`);
  return 0;
}

/** As the node itself. */
async function clientOf(
  layout: Layout,
  { dialect: dialectName, joined, nodes: [name = ''] }: ClusterSettings,
): Promise<RestClient> {
  // Not by way of the node's own process, which ends before the last request.
  const server = await readyServer(layout, joined);
  const file = layout.componentConfig(`node-${name}`);
  const config = await loadKubeconfig(file, { clock: realClock, env: process.env, server });
  return connect(config, { dialect: dialectByName(dialectName), clock: realClock, timeoutMs: 15_000 });
}

/** The first that is ready of those that the node knows, or else the first. */
async function readyServer(layout: Layout, joined: JoinedCluster | undefined): Promise<string> {
  const own = joined === undefined ? [] : [new URL(joined.server).host];
  const { all } = new KnownServers(layout.servers, own);
  const ask = askReady({ ca: readFileSync(layout.joinedCa, 'utf8'), clock: realClock });
  const ready = await Promise.all(all.map(ask));
  return `https://${all[Math.max(0, ready.indexOf(true))]}`;
}

async function drain(client: RestClient, name: string, timeoutMs: number): Promise<void> {
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : new AbortController().signal;
  try {
    await setUnschedulable(client, name, true);
    await evictPods(client, name, {
      ...{ clock: realClock, signal: limit, tell: () => undefined },
      // The machine goes, and with it what is on it.
      ...{ ignoreDaemonSets: true, deleteEmptyDirData: true, force: true },
    });
  } catch (error) {
    if (isNotFound(error)) return;
    if (limit.aborted) throw new SetupError(`pods are left after ${timeoutMs / 1000} s; with --force they are stopped`);
    throw error;
  }
}

async function deleteNode(client: RestClient, name: string): Promise<void> {
  try {
    await client.resource(nodes).delete(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function unlessForced(force: boolean): (error: unknown) => undefined {
  return (error) => {
    const why = messageOf(error);
    if (!force) throw new SetupError(`${why}; to leave without the cluster: --force, and delete the node there`);
    process.stdout.write(`Going on without the cluster: ${why}\n`);
    return undefined;
  };
}
