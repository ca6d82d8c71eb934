/** `orch leave`: takes this machine out of the cluster of which it is a node. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nodes } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/context/settings.js';
import { down } from '#cmd/orch/down.js';
import type { Departure } from '#cmd/orch/members/departure.js';
import { drainNode } from '#cmd/orch/nodes/drain-node.js';
import { nodeClient } from '#cmd/orch/nodes/node-client.js';
import { leaveOptions } from '#cmd/orch/options.js';
import { progressPrinter, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import { parseOptions } from '#daemon/options/parse.js';

export async function leave(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(leaveOptions, argv, { program: 'orch leave' });
  if (parsed.kind !== 'run') {
    const description =
      'Take this machine out of the cluster of which it is a node or a server: its pods go elsewhere, its member of etcd is removed, then everything of it is.';
    process.stdout.write(helpText(leaveOptions, { program: 'orch leave', description }));
    return 0;
  }
  const { timeout, force } = parsed.values;
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings?.joined === undefined && settings?.server === undefined)
    throw new SetupError(`${layout.root} holds nothing that has joined a cluster; a cluster is stopped by: orch down`);
  const sink = progressPrinter(process.stdout, realClock);
  const [name = ''] = settings.nodes;
  const others = await otherMembers(layout, settings).catch(unlessForced(force));
  const client = await nodeClient(layout, settings).catch(unlessForced(force));
  try {
    if (client !== undefined)
      await step(sink, 'pods evicted', () => drainNode(client, name, timeout)).catch(unlessForced(force));
    if (others?.isDueFirst === true) await step(sink, 'etcd left', () => others.leave()).catch(unlessForced(force));
    // Its agent would register it again.
    const code = await down(['--data-dir', layout.root]);
    if (code !== 0) return code;
    if (others?.isDueFirst === false) await step(sink, 'etcd left', () => others.leave()).catch(unlessForced(force));
    if (client !== undefined)
      await step(sink, 'node deleted', () => deleteNode(client, name)).catch(unlessForced(force));
  } finally {
    others?.close();
    await client?.close();
  }
  await rm(layout.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.stdout.write(
    `\nThis machine is no ${settings.server === undefined ? 'node' : 'server'} of the cluster any more.\n`,
  );
  return 0;
}

/** Of the etcd of which this machine has a member; undefined on mere nodes. */
async function otherMembers(layout: Layout, { server }: ClusterSettings): Promise<Departure | undefined> {
  if (server === undefined) return undefined;
  const { departure } = await import('#cmd/orch/members/departure.js');
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
    if (!force) throw new SetupError(`${why}; to leave without the cluster: --force, and delete the node there`);
    process.stdout.write(`Going on without the cluster: ${why}\n`);
    return undefined;
  };
}
