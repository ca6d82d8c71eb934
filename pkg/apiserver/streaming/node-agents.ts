/** Addresses of node agents, and this server's credentials for them. */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { notFound, unclassified } from '#apimachinery/errors/status.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { agentHost, type ResolveName } from '#apiserver/streaming/allowed-addresses.js';
import type { Backend, BackendTLS } from '#apiserver/streaming/backend.js';
import type { TlsSource } from '#http/client/credentials.js';
import type { Dial } from '#http/client/dial.js';

export interface NodeAgentsOptions {
  readonly reader: ObjectReader;
  /** Client certificate and CA bundle, which may change; without `ca`, any serving certificate is accepted. */
  readonly tls: TlsSource;
  /** Types of node addresses, in order of preference. */
  readonly addressTypes: readonly string[];
  /** Port of nodes without one in their status. */
  readonly defaultPort: number;
  readonly resolve: ResolveName;
  /** True for this server's own address: it must not call itself with its rights at agents. Absent: never. */
  readonly isOwn?: (address: string, port: number) => boolean;
  /** Opens connections; absent: directly. */
  readonly dial?: Dial | undefined;
}

export const defaultAddressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;

export class NodeAgents {
  readonly #options: NodeAgentsOptions;

  constructor(options: NodeAgentsOptions) {
    this.#options = options;
  }

  /** Throws 404 for an unknown node, 500 for a node without an address, 400 for an address that is not allowed. */
  async backend(nodeName: string, options: { readonly insecure?: boolean } = {}): Promise<Backend> {
    const { reader, tls, defaultPort, resolve, isOwn } = this.#options;
    const node = (await reader.get(nodes, '', nodeName)) ?? (await reader.get(nodes, '', nodeName, 'latest'));
    if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, nodeName);
    const host = this.#address(node);
    if (host === undefined) throw unclassified(`no preferred addresses found; known addresses: ${addressList(node)}`);
    const nodePort = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const port = nodePort === 0 ? defaultPort : nodePort;
    const { ca, cert, key } = await tls.current();
    const client: BackendTLS = {
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
    const where = await agentHost(host, resolve, (address) => isOwn?.(address, port) === true);
    const { dial } = this.#options;
    return { ...where, port, dial, tls: options.insecure === true || ca === undefined ? client : { ...client, ca } };
  }

  #address(node: Node): string | undefined {
    const addresses = node.status?.addresses ?? [];
    for (const type of this.#options.addressTypes) {
      const match = addresses.find((each) => each.type === type);
      if (match !== undefined) return match.address;
    }
    return undefined;
  }
}

function addressList(node: Node): string {
  return JSON.stringify((node.status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`));
}
