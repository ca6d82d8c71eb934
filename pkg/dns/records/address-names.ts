/** Names that are made of addresses. */
import { formatAddress } from '#apimachinery/net/ip.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';

/** The address that a reverse name is of, such as `1.0.96.10.in-addr.arpa`; undefined for parts of one. */
export function addressOfReverse(labels: readonly string[]): string | undefined {
  const [domain, top] = labels.slice(-2);
  if (top !== 'arpa') return undefined;
  const parts = labels.slice(0, -2).reverse();
  if (domain === 'in-addr') return parts.length === 4 ? ipv4(parts) : undefined;
  if (domain !== 'ip6' || parts.length !== 32 || !parts.every((part) => /^[0-9a-f]$/.test(part))) return undefined;
  return formatAddress(Buffer.from(parts.join(''), 'hex'));
}

function ipv4(parts: readonly string[]): string | undefined {
  const isPart = (part: string) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256;
  return parts.every(isPart) ? parts.join('.') : undefined;
}

/** The address in a pod's label: `10-244-0-7`, `fd00--7`; undefined where there is none. */
export function addressOfPodLabel(label: string): string | undefined {
  const parts = label.split('-');
  if (parts.length === 4) {
    const address = ipv4(parts);
    if (address !== undefined) return address;
  }
  const address = parts.join(':');
  return address.includes(':') && strictFamily(address) === 6 ? address : undefined;
}
