/** What 1.24 refuses about the addresses and ports of Services. */
import { dialectByName } from '#apimachinery/dialect.js';
import { type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

/** More addresses than a record in etcd should have. */
const maxBits = 20;
const minAddresses = 8;
const highestPort = 65_535;

interface Ranges {
  readonly texts: readonly string[];
  readonly blocks: readonly (IPBlock | undefined)[];
}

function rangesOf(values: ApiServerValues): Ranges {
  const text = values['service-cluster-ip-range'] ?? '';
  const texts = text === '' ? [] : text.split(',');
  // What follows the second one is counted, and not read.
  return { texts, blocks: texts.slice(0, 2).map((range) => parseCIDR(range)) };
}

/** The ranges themselves: before anything else is looked at. */
export const serviceRangeRule: Rule<ApiServerValues> = (values) => {
  const { texts, blocks } = rangesOf(values);
  if (texts.length === 0) return [];
  const [primary] = blocks;
  if (primary === undefined) return ['service-cluster-ip-range[0] is not a valid cidr'];
  if (sizeBits(primary) < Math.log2(minAddresses)) {
    const why = `the service cluster IP range must be at least ${minAddresses} IP addresses`;
    return [`error determining service IP ranges for primary service cidr: ${why}`];
  }
  return texts.length > 1 && blocks[1] === undefined ? ['service-cluster-ip-range[1] is not an ip net'] : [];
};

export const serviceRules: Rule<ApiServerValues> = (values) => [...rangeErrors(values), ...portErrors(values)];

function rangeErrors(values: ApiServerValues): string[] {
  const { texts, blocks } = rangesOf(values);
  const [primary, secondary] = blocks;
  const messages: string[] = [];
  if (texts.length > 2) messages.push('--service-cluster-ip-range must not contain more than two entries');
  messages.push(...sizeErrors(primary, '--service-cluster-ip-range'));
  if (secondary !== undefined && secondary.family === primary?.family) {
    messages.push('--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family');
  }
  return [...messages, ...sizeErrors(secondary, '--service-cluster-ip-range[1]')];
}

function sizeErrors(block: IPBlock | undefined, name: string): string[] {
  if (block === undefined || sizeBits(block) <= maxBits) return [];
  const bits = lengthOf(block);
  return [`specified ${name} is too large; for ${bits}-bit addresses, the mask must be >= ${bits - maxBits}`];
}

const lengthOf = ({ family }: IPBlock): number => (family === 4 ? 32 : 128);
const sizeBits = (block: IPBlock): number => lengthOf(block) - block.prefix;

function portErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const { product } = dialectByName(values.dialect);
  const port = values['api-service-node-port'];
  if (port < 0 || port > highestPort) {
    const title = `${product.charAt(0).toUpperCase()}${product.slice(1)}`;
    messages.push(
      `--api-service-node-port ${port} must be between 0 and ${highestPort}, inclusive. If 0, the ${title} master service will be of type ClusterIP`,
    );
  }
  const ports = new NodePortRange(values['service-node-port-range']);
  if (port > 0 && ports.offsetOf(port) === undefined) {
    messages.push(`${product} service node port range ${ports.first}-${ports.last} doesn't contain ${port}`);
  }
  return messages;
}
