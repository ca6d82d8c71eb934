/** What this server asks others. */
import { nameBytes } from '#dns/message/names.js';
import { classInternet, dnssecOk, ednsBytes, flag, headerBytes, recordType } from '#dns/message/numbers.js';

export interface OutgoingQuestion {
  readonly labels: readonly string[];
  readonly type: number;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

const optionBytes = 11;

/** Throws RangeError for a name that has no bytes. */
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
  // The root's name in front of the option is a zero.
  message.writeUInt16BE(recordType.OPT, at + 5);
  message.writeUInt16BE(ednsBytes, at + 7);
  message.writeUInt16BE(question.dnssecOk ? dnssecOk : 0, at + 11);
  return message;
}

/** True for an answer to that query: other bytes that arrive are somebody's attempt to be taken for the server. */
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
