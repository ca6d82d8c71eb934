import { ipFamily } from '#apimachinery/net/ip.js';
import { specialRange } from '#apimachinery/net/special-ip.js';

/** Messages for addresses of a node that are not one, or a pair of both families; as in 1.24. */
export function nodeIPErrors(nodeIPs: readonly string[]): string[] {
  const families = nodeIPs.map((address) => ipFamily(address.trim()));
  const pair = nodeIPs.length === 2 && families[0] !== families[1];
  const text = JSON.stringify(nodeIPs.join(','));
  if (families.includes(0) || (nodeIPs.length > 1 && !pair)) {
    return [`--node-ip ${text} must be one IP address or one of each family`];
  }
  const anyIsUnspecified = nodeIPs.some((address) => specialRange(address.trim()) === 'unspecified');
  return pair && anyIsUnspecified ? [`dual-stack --node-ip ${text} cannot include '0.0.0.0' or '::'`] : [];
}
