/** Key usages and extended key usages of certificates (RFC 5280 4.2.1.3 and 4.2.1.12). */
import { element, tag } from '#apimachinery/asn1/der.js';

/** Key usages in the order of their bits. */
const keyUsages = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'certSign',
  'crlSign',
  'encipherOnly',
  'decipherOnly',
] as const;

export type KeyUsage = (typeof keyUsages)[number];

/** Object identifiers of extended key usages, in the order of certificates. */
export const purposeOids = {
  any: '2.5.29.37.0',
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  ipsecEndSystem: '1.3.6.1.5.5.7.3.5',
  ipsecTunnel: '1.3.6.1.5.5.7.3.6',
  ipsecUser: '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  microsoftSGC: '1.3.6.1.4.1.311.10.3.3',
  netscapeSGC: '2.16.840.1.113730.4.1',
} as const;

export type Purpose = keyof typeof purposeOids;

/** A bit string without trailing zeros, which DER requires of lists of named bits. */
export function encodeKeyUsages(usages: readonly KeyUsage[]): Buffer {
  const bits = usages.map((usage) => keyUsages.indexOf(usage));
  const last = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const bit of bits) {
    const at = Math.floor(bit / 8);
    bytes.writeUInt8(bytes.readUInt8(at) | (0x80 >> (bit % 8)), at);
  }
  return element(tag.bitString, Buffer.from([7 - (last % 8)]), bytes);
}
