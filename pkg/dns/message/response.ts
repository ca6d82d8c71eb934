/** Writes responses. */
import {
  dnssecOk,
  ednsBytes,
  flag,
  headerBytes,
  maxMessageBytes,
  plainBytes,
  recordType,
} from '#dns/message/numbers.js';
import type { Query } from '#dns/message/query.js';
import { noRecords, type RecordSet, recordEnd } from '#dns/message/records.js';

export interface Content {
  readonly code: number;
  readonly authoritative?: boolean;
  readonly answers?: RecordSet;
  readonly authority?: RecordSet;
  readonly additional?: RecordSet;
}

export interface Limits {
  readonly maxBytes: number;
  /** Returns [0, 1); chooses which address comes first. */
  readonly random: () => number;
}

const optionBytes = 11;

/** Largest response over UDP. */
export function udpBytes({ edns }: Query): number {
  return edns === undefined ? plainBytes : Math.min(ednsBytes, Math.max(plainBytes, edns.maxBytes));
}

/** Drops what does not fit: additional records first, then answers, with the truncated flag. */
export function writeResponse(query: Query, content: Content, { maxBytes, random }: Limits): Buffer {
  const { code, authoritative = false } = content;
  let { answers = noRecords, authority = noRecords, additional = noRecords } = content;
  const { question, edns } = query;
  const option = edns === undefined ? 0 : optionBytes;
  const room = Math.min(maxBytes, maxMessageBytes) - headerBytes - question.length - option;
  let truncated = 0;
  const needed = answers.bytes.length + authority.bytes.length;
  if (needed > room) {
    answers = fitting(answers, room, random);
    // Compression pointers in later records would be wrong.
    authority = noRecords;
    additional = noRecords;
    truncated = flag.truncated;
  }
  if (answers.bytes.length + authority.bytes.length + additional.bytes.length > room) additional = noRecords;
  const used = answers.bytes.length + authority.bytes.length + additional.bytes.length;
  const message = Buffer.allocUnsafe(headerBytes + question.length + used + option);
  const kept = query.flags & (flag.recursionDesired | flag.checkingDisabled);
  const own = flag.response | flag.recursionAvailable | (authoritative ? flag.authoritative : 0);
  message.writeUInt16BE(query.id, 0);
  message.writeUInt16BE(own | kept | truncated | (code & 0xf), 2);
  message.writeUInt16BE(question.length === 0 ? 0 : 1, 4);
  message.writeUInt16BE(answers.count, 6);
  message.writeUInt16BE(authority.count, 8);
  message.writeUInt16BE(additional.count + (option === 0 ? 0 : 1), 10);
  question.copy(message, headerBytes);
  let at = headerBytes + question.length;
  at = copyTurned(answers, message, at, random);
  at += authority.bytes.copy(message, at);
  at += additional.bytes.copy(message, at);
  if (edns !== undefined) writeOption(message, at, { code, ...edns });
  return message;
}

/** As many complete records as fit; of addresses a random part, so that none is always dropped. */
function fitting(set: RecordSet, room: number, random: () => number): RecordSet {
  const { stride } = set;
  if (stride !== undefined) {
    const count = Math.max(0, Math.floor(room / stride));
    const bytes = Buffer.allocUnsafe(count * stride);
    // Only those that fit are copied: a service may have a hundred thousand.
    const first = Math.floor(random() * set.count) * stride;
    const copied = set.bytes.copy(bytes, 0, first);
    set.bytes.copy(bytes, copied, 0);
    return { bytes, count };
  }
  let end = 0;
  let count = 0;
  while (count < set.count) {
    const next = recordEnd(set.bytes, end);
    if (next > room) break;
    end = next;
    count += 1;
  }
  return { bytes: set.bytes.subarray(0, end), count };
}

/** Copies records, rotated randomly, because clients use the first address. Returns the offset after them. */
function copyTurned({ bytes, count, stride }: RecordSet, to: Buffer, at: number, random: () => number): number {
  if (stride === undefined || count < 2) return at + bytes.copy(to, at);
  const first = Math.floor(random() * count) * stride;
  const middle = at + bytes.copy(to, at, first);
  return middle + bytes.copy(to, middle, 0, first);
}

function writeOption(message: Buffer, at: number, option: { code: number; dnssecOk: boolean }): void {
  message[at] = 0;
  message.writeUInt16BE(recordType.OPT, at + 1);
  message.writeUInt16BE(ednsBytes, at + 3);
  message[at + 5] = option.code >> 4;
  message[at + 6] = 0;
  message.writeUInt16BE(option.dnssecOk ? dnssecOk : 0, at + 7);
  message.writeUInt16BE(0, at + 9);
}
