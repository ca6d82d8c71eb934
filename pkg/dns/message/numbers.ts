/** Protocol constants: RFC 1035, 3596, 2782, 6891. */

export const recordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

export const responseCode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** The upper bits are in the OPT record. */
  BADVERS: 16,
} as const;

export const flag = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  checkingDisabled: 0x0010,
} as const;

export const classInternet = 1;
export const headerBytes = 12;
/** A bit of an OPT record's TTL field. */
export const dnssecOk = 0x8000;
/** Largest UDP message that passes everywhere without fragmentation (DNS flag day 2020). */
export const ednsBytes = 1232;
/** Largest UDP message for clients without EDNS. */
export const plainBytes = 512;
export const maxMessageBytes = 65_535;

const typeNames = new Map<number, string>(Object.entries(recordType).map(([name, number]) => [number, name]));
const codeNames = new Map<number, string>(Object.entries(responseCode).map(([name, number]) => [number, name]));

/** Metric label of a record type; `other` for unusual ones. */
export function typeName(type: number): string {
  return typeNames.get(type) ?? 'other';
}

export function codeName(code: number): string {
  return codeNames.get(code) ?? 'other';
}
