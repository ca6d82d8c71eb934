/** Where the records of a message are. */
import { skipName } from '#dns/message/names.js';
import { headerBytes } from '#dns/message/numbers.js';

export type Section = 'answer' | 'authority' | 'additional';

export interface RecordPlace {
  readonly section: Section;
  readonly type: number;
  readonly start: number;
  readonly end: number;
  readonly ttlOffset: number;
  readonly ttl: number;
}

/** Type, class, TTL and the length of the data. */
const fixedBytes = 10;

/** All records of a message; undefined for one that is cut off or that says something wrong about their numbers. */
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

/** The offset behind a record that this program has written. */
export function recordEnd(bytes: Buffer, start: number): number {
  const name = skipName(bytes, start) ?? bytes.length;
  return name + fixedBytes + bytes.readUInt16BE(name + 8);
}
