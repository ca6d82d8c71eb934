/** Parses records of messages, and encodes records once for many responses. */

import { type Answer, encode } from 'dns-packet';
import { addressBytes } from '#apimachinery/net/ip.js';
import { nameBytes, skipName } from '#dns/message/names.js';
import { classInternet, headerBytes, recordType } from '#dns/message/numbers.js';

export type Section = 'answer' | 'authority' | 'additional';

export interface RecordPlace {
  readonly section: Section;
  readonly type: number;
  readonly start: number;
  readonly end: number;
  readonly ttlOffset: number;
  readonly ttl: number;
}

/** Length of type, class, TTL and data length. */
const fixedBytes = 10;

/** All records of a message; undefined if it is truncated or its counts are wrong. */
export function readRecords(message: Buffer): RecordPlace[] | undefined {
  if (message.length < headerBytes) return undefined;
  let at = headerBytes;
  for (let questions = message.readUInt16BE(4); questions > 0; questions--) {
    const end = skipName(message, at);
    if (end === undefined || end + 4 > message.length) return undefined;
    at = end + 4;
  }
  const places: RecordPlace[] = [];
  for (const [section, offset] of sections) {
    for (let count = message.readUInt16BE(offset); count > 0; count--) {
      const place = readRecord(message, at, section);
      if (place === undefined) return undefined;
      places.push(place);
      at = place.end;
    }
  }
  return places;
}

const sections: readonly (readonly [Section, number])[] = [
  ['answer', 6],
  ['authority', 8],
  ['additional', 10],
];

function readRecord(message: Buffer, start: number, section: Section): RecordPlace | undefined {
  const name = skipName(message, start);
  if (name === undefined || name + fixedBytes > message.length) return undefined;
  const end = name + fixedBytes + message.readUInt16BE(name + 8);
  if (end > message.length) return undefined;
  return {
    section,
    start,
    end,
    type: message.readUInt16BE(name),
    ttlOffset: name + 4,
    ttl: message.readUInt32BE(name + 4),
  };
}

/** Offset after a record that this program has encoded. */
export function recordEnd(bytes: Buffer, start: number): number {
  const name = skipName(bytes, start) ?? bytes.length;
  return name + fixedBytes + bytes.readUInt16BE(name + 8);
}

export interface RecordSet {
  readonly bytes: Buffer;
  readonly count: number;
  /** Length of each record, if equal; the order may be rotated then. */
  readonly stride?: number;
}

export const noRecords: RecordSet = { bytes: Buffer.alloc(0), count: 0 };

/** Compression pointer to the question's name. */
const questionName = Buffer.from([0xc0, headerBytes]);

/** Owner name of records: the question's, or another one. */
export type Owner = 'question' | readonly string[];

function ownerBytes(owner: Owner): Buffer {
  return owner === 'question' ? questionName : nameBytes(owner);
}

/** A or AAAA records; addresses of the other family are skipped. */
export function addressRecords(
  owner: Owner,
  addresses: Iterable<string>,
  { type, ttl }: { readonly type: number; readonly ttl: number },
): RecordSet {
  const length = type === recordType.A ? 4 : 16;
  const name = ownerBytes(owner);
  const head = Buffer.alloc(name.length + 10);
  name.copy(head);
  head.writeUInt16BE(type, name.length);
  head.writeUInt16BE(classInternet, name.length + 2);
  head.writeUInt32BE(ttl, name.length + 4);
  head.writeUInt16BE(length, name.length + 8);
  const parts: Uint8Array[] = [];
  for (const address of addresses) {
    const bytes = addressBytes(address);
    if (bytes?.length === length) parts.push(head, bytes);
  }
  return { bytes: Buffer.concat(parts), count: parts.length / 2, stride: head.length + length };
}

/** Any record; `data` as the package expects it. */
export function record(owner: Owner, answer: DistributiveOmit<Exclude<Answer, { type: 'OPT' }>, 'name'>): RecordSet {
  // The root name is a single byte, which the owner's name replaces.
  const packet = encode({ type: 'response', answers: [{ ...answer, name: '.' } as Answer] });
  return { bytes: Buffer.concat([ownerBytes(owner), packet.subarray(headerBytes + 1)]), count: 1 };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Replaces the question's name as the owner. */
export function withOwner(set: RecordSet, labels: readonly string[]): RecordSet {
  const name = nameBytes(labels);
  const parts: Buffer[] = [];
  for (let at = 0; at < set.bytes.length; ) {
    const end = recordEnd(set.bytes, at);
    parts.push(name, set.bytes.subarray(at + questionName.length, end));
    at = end;
  }
  return { bytes: Buffer.concat(parts), count: set.count };
}

export function joined(sets: readonly RecordSet[]): RecordSet {
  const [first] = sets;
  if (first === undefined) return noRecords;
  if (sets.length === 1) return first;
  return {
    bytes: Buffer.concat(sets.map(({ bytes }) => bytes)),
    count: sets.reduce((sum, { count }) => sum + count, 0),
  };
}
