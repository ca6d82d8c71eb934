/** Parses untrusted queries of clients, and writes queries to other servers. */
import { nameBytes, readQuestionName } from '#dns/message/names.js';
import {
  classInternet,
  dnssecOk,
  ednsBytes,
  flag,
  headerBytes,
  recordType,
  responseCode,
} from '#dns/message/numbers.js';
import { readRecords } from '#dns/message/records.js';

export interface Query {
  readonly id: number;
  /** As received. */
  readonly flags: number;
  /** Name, type and class as received; responses repeat the name's case. */
  readonly question: Buffer;
  readonly labels: readonly string[];
  readonly type: number;
  /** Absent if the client does not use EDNS. */
  readonly edns?: { readonly maxBytes: number; readonly dnssecOk: boolean };
}

/** `refused`: answered with the code. `ignored`: not answered, so that two servers cannot talk for ever. */
export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'refused'; readonly code: number; readonly query: Query }
  | { readonly kind: 'ignored' };

const none = Buffer.alloc(0);
/** Meta types such as zone transfers (RFC 6895), except ANY. */
const firstMetaType = 128;
const lastMetaType = 254;

export function readQuery(bytes: Buffer): ReadQuery {
  if (bytes.length < headerBytes) return { kind: 'ignored' };
  const id = bytes.readUInt16BE(0);
  const flags = bytes.readUInt16BE(2);
  if ((flags & flag.response) !== 0) return { kind: 'ignored' };
  const refused = (code: number, query: Query = { id, flags, question: none, labels: [], type: 0 }): ReadQuery => ({
    kind: 'refused',
    code,
    query,
  });
  if (((flags >> 11) & 0xf) !== 0) return refused(responseCode.NOTIMP);
  if (bytes.readUInt16BE(4) !== 1) return refused(responseCode.FORMERR);
  const name = readQuestionName(bytes, headerBytes);
  if (name === undefined || name.end + 4 > bytes.length) return refused(responseCode.FORMERR);
  const type = bytes.readUInt16BE(name.end);
  const plain: Query = { id, flags, question: bytes.subarray(headerBytes, name.end + 4), labels: name.labels, type };
  // Most queries without EDNS have no records.
  if (bytes.readUInt32BE(6) === 0 && bytes.readUInt16BE(10) === 0) return checked(plain, bytes, name.end);
  const records = readRecords(bytes);
  if (records === undefined) return refused(responseCode.FORMERR, plain);
  const options = records.filter((record) => record.type === recordType.OPT);
  const [option] = options;
  if (option === undefined) return checked(plain, bytes, name.end);
  if (options.length > 1 || option.section !== 'additional') return refused(responseCode.FORMERR, plain);
  const maxBytes = bytes.readUInt16BE(option.ttlOffset - 2);
  const query = { ...plain, edns: { maxBytes, dnssecOk: (option.ttl & dnssecOk) !== 0 } };
  if (((option.ttl >>> 16) & 0xff) !== 0) return refused(responseCode.BADVERS, query);
  return checked(query, bytes, name.end);
}

function checked(query: Query, bytes: Buffer, end: number): ReadQuery {
  const { type } = query;
  if (type === recordType.OPT || type === 0) return { kind: 'refused', code: responseCode.FORMERR, query };
  if (type >= firstMetaType && type <= lastMetaType) return { kind: 'refused', code: responseCode.NOTIMP, query };
  if (bytes.readUInt16BE(end + 2) !== classInternet) return { kind: 'refused', code: responseCode.REFUSED, query };
  return { kind: 'query', query };
}

export interface OutgoingQuestion {
  readonly labels: readonly string[];
  readonly type: number;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

const optionBytes = 11;

/** Throws RangeError for an invalid name. */
export function writeQuery(id: number, question: OutgoingQuestion): Buffer {
  const name = nameBytes(question.labels);
  const message = Buffer.alloc(headerBytes + name.length + 4 + optionBytes);
  message.writeUInt16BE(id, 0);
  message.writeUInt16BE(flag.recursionDesired | (question.checkingDisabled ? flag.checkingDisabled : 0), 2);
  message.writeUInt16BE(1, 4);
  message.writeUInt16BE(1, 10);
  const at = headerBytes + name.copy(message, headerBytes);
  message.writeUInt16BE(question.type, at);
  message.writeUInt16BE(classInternet, at + 2);
  // The OPT record's name, the root, is a zero byte.
  message.writeUInt16BE(recordType.OPT, at + 5);
  message.writeUInt16BE(ednsBytes, at + 7);
  message.writeUInt16BE(question.dnssecOk ? dnssecOk : 0, at + 11);
  return message;
}

/** True if the message answers this query. Other messages may be spoofed. */
export function isAnswerTo(message: Buffer, query: Buffer): boolean {
  const end = query.length - optionBytes;
  return (
    message.length >= end &&
    message.readUInt16BE(0) === query.readUInt16BE(0) &&
    (message.readUInt16BE(2) & flag.response) !== 0 &&
    message.readUInt16BE(4) === 1 &&
    message.toString('latin1', headerBytes, end).toLowerCase() ===
      query.toString('latin1', headerBytes, end).toLowerCase()
  );
}
