/** Checks of a machine that joins a cluster, made before anything is changed. They throw SetupErrors. */
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { RuntimeName } from '#cluster/config/settings.js';
import { hostNetworks, overlaps, primaryRange } from '#cluster/machine/network.js';
import { whyNoContainers, whyNoServiceProxy } from '#cluster/machine/preflight.js';
import type { NodeSettings } from '#cluster/objects/node-settings.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

/** Refuses a machine that cannot be the node of this name. */
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
  if (why !== undefined) throw new SetupError(`this machine cannot forward Services: ${why}`);
}

/** Two machines of one name would run the same pods. */
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

/** Refuses a machine with a network in the pod range: pods could not reach its addresses. */
async function refuseOverlap(podRange: string): Promise<void> {
  const overlap = (await hostNetworks()).find((network) => overlaps(primaryRange(podRange), network));
  if (overlap === undefined) return;
  const { address, bits, link } = overlap;
  throw new SetupError(
    `the pod range ${primaryRange(podRange)} of the cluster overlaps a network of this machine: ${address}/${bits} of interface ${link}`,
  );
}

/** Validates `--ca-hash`. */
export function checkedPin(pin = ''): string {
  if (/^sha256:[0-9a-f]{64}$/i.test(pin)) return pin;
  throw new SetupError(
    '--ca-hash must be sha256: and 64 hexadecimal digits; the command that creates tokens prints it',
  );
}

export function asSetupError(error: unknown): never {
  throw error instanceof SetupError ? error : new SetupError(messageOf(error), { cause: error });
}

/** URL of a host with optional port and scheme. Throws a SetupError. */
export function serverUrl(text: string): string {
  const url = text.includes('://') ? text : `https://${text}`;
  if (!URL.canParse(url))
    throw new SetupError(`${JSON.stringify(text)} is no address of an API server; expected HOST, HOST:PORT or a URL`);
  const { protocol, host, port, hostname } = new URL(url);
  if (protocol !== 'https:') throw new SetupError(`${text}: the URL of an API server must begin with https`);
  return `https://${port === '' && !text.endsWith(':443') ? `${hostname}:6443` : host}`;
}
