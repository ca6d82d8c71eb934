/** Where a node's agent is, and how this server shows itself to it. */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { notFound, unclassified } from '#apimachinery/errors/status.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Backend, BackendTLS } from '#apiserver/streaming/backend.js';
import { agentHost, type ResolveName } from '#apiserver/streaming/reachable.js';
import type { TlsSource } from '#http/client/credentials.js';

export interface NodeAgentsOptions {
  readonly reader: ObjectReader;
  /** What to show and whom to believe, which may change; without a `ca` any serving certificate is taken. */
  readonly tls: TlsSource;
  /** Types of node addresses, the best one first. */
  readonly addressTypes: readonly string[];
  /** Port for nodes that do not say theirs. */
  readonly defaultPort: number;
  readonly resolve: ResolveName;
  /** True where this server itself listens: it would be asked with the rights that it has at agents. Absent: nowhere. */
  readonly isOwn?: (address: string, port: number) => boolean;
}

export const defaultAddressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;

export class NodeAgents {
  readonly #options: NodeAgentsOptions;

  constructor(options: NodeAgentsOptions) {
    this.#options = options;
  }

  /** Throws 404 for an unknown node, 500 for one without an address, and 400 where that is no machine's. */
  async backend(nodeName: string, options: { readonly insecure?: boolean } = {}): Promise<Backend> {
    const { reader, tls, defaultPort, resolve, isOwn } = this.#options;
    const node = (await reader.get(nodes, '', nodeName)) ?? (await reader.get(nodes, '', nodeName, 'latest'));
    if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, nodeName);
    const host = this.#address(node);
    if (host === undefined) throw unclassified(`no preferred addresses found; known addresses: ${known(node)}`);
    const told = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const port = told === 0 ? defaultPort : told;
    const { ca, cert, key } = await tls.current();
    const shown: BackendTLS = {
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
    const where = await agentHost(host, resolve, (address) => isOwn?.(address, port) === true);
    return { ...where, port, tls: options.insecure === true || ca === undefined ? shown : { ...shown, ca } };
  }

  #address(node: Node): string | undefined {
    const addresses = node.status?.addresses ?? [];
    for (const type of this.#options.addressTypes) {
      const found = addresses.find((each) => each.type === type);
      if (found !== undefined) return found.address;
    }
    return undefined;
  }
}

function known(node: Node): string {
  return JSON.stringify((node.status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`));
}
