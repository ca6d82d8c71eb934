/** `orch leave`: removes this machine from its cluster. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nodes } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { down } from '#cluster/bootstrap/down.js';
import { nodeClient } from '#cluster/clients/api-clients.js';
import { drainNode } from '#cluster/clients/nodes.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { leaveOptions } from '#cluster/config/options.js';
import { type ClusterSettings, readSettings } from '#cluster/config/settings.js';
import type { Departure } from '#cluster/members/etcd-membership.js';
import { forgetShutdownDelay } from '#cluster/node-agent/shutdown-delay.js';
import { progressPrinter, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';

export async function leave(argv: readonly string[]): Promise<number> {
  const description =
    'Remove this machine from the cluster of which it is a node or a server: evict its pods, remove its etcd member, then delete the node and its data.';
  const parsed = commandOptions(leaveOptions, argv, { program: 'orch leave', description });
  if (parsed === undefined) return 0;
  const { timeout, force } = parsed.values;
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings?.joined === undefined && settings?.server === undefined)
    throw new SetupError(`${layout.root} has not joined a cluster; stop a cluster with: orch down`);
  const sink = progressPrinter(process.stdout, realClock);
  const [name = ''] = settings.nodes;
  const etcd = await etcdDeparture(layout, settings).catch(unlessForced(force));
  const client = await nodeClient(layout, settings).catch(unlessForced(force));
  try {
    if (client !== undefined)
      await step(sink, 'pods evicted', () => drainNode(client, name, timeout)).catch(unlessForced(force));
    if (etcd?.isDueFirst === true) await step(sink, 'etcd left', () => etcd.leave()).catch(unlessForced(force));
    // Stop the agent before the node is deleted, since it would register it again.
    const code = await down(['--data-dir', layout.root]);
    if (code !== 0) return code;
    if (etcd?.isDueFirst === false) await step(sink, 'etcd left', () => etcd.leave()).catch(unlessForced(force));
    if (client !== undefined)
      await step(sink, 'node deleted', () => deleteNode(client, name)).catch(unlessForced(force));
  } finally {
    etcd?.close();
    await client?.close();
  }
  await forgetShutdownDelay(settings);
  await rm(layout.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.stdout.write(
    `\nThis machine is no longer a ${settings.server === undefined ? 'node' : 'server'} of the cluster.\n`,
  );
  return 0;
}

/** Departure from etcd; undefined on a mere node. */
async function etcdDeparture(layout: Layout, { server }: ClusterSettings): Promise<Departure | undefined> {
  if (server === undefined) return undefined;
  const { departure } = await import('#cluster/members/etcd-membership.js');
  return departure(layout, server);
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
    if (!force) throw new SetupError(`${why}; to leave without the cluster give --force, and delete the node there`);
    process.stdout.write(`Continuing without the cluster: ${why}\n`);
    return undefined;
  };
}
