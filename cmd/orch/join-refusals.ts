/** What is in the way of a machine that would join a cluster, found out before anything is changed. They throw SetupErrors. */
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { RuntimeName } from '#cmd/orch/context/settings.js';
import type { NodeSettings } from '#cmd/orch/joining/node-settings.js';
import { hostNetworks, overlaps, primaryRange } from '#cmd/orch/network.js';
import { whyNoContainers, whyNoServiceProxy } from '#cmd/orch/preflight.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/** Of a node of this name in that cluster. */
export async function refuseUnfit(
  client: Client,
  name: string,
  { podRange, serviceProxy }: Pick<NodeSettings, 'podRange' | 'serviceProxy'>,
  runtime: RuntimeName,
): Promise<void> {
  await refuseTwin(client, name);
  if (runtime !== 'containerd') return;
  refuseNoServices(serviceProxy);
  await refuseOverlap(podRange);
}

export function refuseNoContainers(runtime: string): void {
  if (runtime !== 'containerd') return;
  const why = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
  if (why !== undefined) throw new SetupError(`this machine cannot run containers: ${why}`);
}

function refuseNoServices(serviceProxy: string): void {
  if (serviceProxy === 'none') return;
  const why = whyNoServiceProxy(process.env['PATH'] ?? '');
  if (why !== undefined) throw new SetupError(`services of the cluster would lead nowhere on this machine: ${why}`);
}

/** Two machines of one name would take each other's pods. */
async function refuseTwin(client: Client, name: string): Promise<void> {
  try {
    const node = await client.resource(nodes).get(name);
    if (!isNodeReady(node)) return;
  } catch (error) {
    if (isNotFound(error)) return;
    return asSetupError(error);
  }
  throw new SetupError(
    `the cluster has a node ${name} that is Ready; give --node-name, or delete it: orchctl delete node ${name}`,
  );
}

/** Pods could not reach what they have the addresses of. */
async function refuseOverlap(podRange: string): Promise<void> {
  const taken = (await hostNetworks()).find((network) => overlaps(primaryRange(podRange), network));
  if (taken === undefined) return;
  throw new SetupError(
    `pods of the cluster have addresses of ${primaryRange(podRange)}, and so has this machine: ${taken.address}/${taken.bits} of ${taken.link}`,
  );
}

/** What `--ca-hash` says. */
export function checkedPin(pin = ''): string {
  if (/^sha256:[0-9a-f]{64}$/i.test(pin)) return pin;
  throw new SetupError(
    '--ca-hash is needed: sha256: and 64 hexadecimal digits, as the command that makes tokens prints it',
  );
}

export function asSetupError(error: unknown): never {
  throw error instanceof SetupError ? error : new SetupError(messageOf(error), { cause: error });
}

/** A host, with or without its port and scheme. Throws a SetupError. */
export function serverUrl(text: string): string {
  const url = text.includes('://') ? text : `https://${text}`;
  if (!URL.canParse(url)) throw new SetupError(`${JSON.stringify(text)} is no address of an API server`);
  const { protocol, host, port, hostname } = new URL(url);
  if (protocol !== 'https:') throw new SetupError(`${text}: API servers are reached by https`);
  return `https://${port === '' && !text.endsWith(':443') ? `${hostname}:6443` : host}`;
}
