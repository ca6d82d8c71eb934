/** Encodes the answers of etcd's v3 API. Field numbers: rpc.proto and kv.proto of etcd 3.5. */
import { WireWriter } from '#storage/etcd/requests.js';
import type { MemoryKeyValue } from '#storage/memory/memory-store.js';
import type { Revision } from '#storage/store.js';

/** The cluster has one member, whose ids are those that etcd gives a member named `default` at no special address. */
const clusterId = 0xcdf8_181e_2c14_12d3n;
export const memberId = 0x8e9e_05c5_2164_694dn;
export const term = 2;

/** Keys are text of one character for each byte, so that every key of a client stays what it is. */
export const keyText = (bytes: Buffer): string => bytes.toString('latin1');
const keyBytes = (key: string): Buffer => Buffer.from(key, 'latin1');

/** An answer that begins with the header. */
export function answer(revision: Revision): WireWriter {
  const header = new WireWriter().int(1, clusterId).int(2, memberId).int(3, revision).int(4, term);
  return new WireWriter().message(1, header);
}

/** @param lease 0: none. */
export function pair(kv: MemoryKeyValue, lease: bigint, keysOnly = false): WireWriter {
  return new WireWriter()
    .bytes(1, keyBytes(kv.key))
    .int(2, kv.createRevision)
    .int(3, kv.modRevision)
    .int(4, kv.version)
    .bytes(5, keysOnly ? '' : kv.value)
    .int(6, lease);
}

/** The pair of a deletion's event: only its key and revision. */
export function deletedPair(key: string, revision: Revision): WireWriter {
  return new WireWriter().bytes(1, keyBytes(key)).int(3, revision);
}

export function keyField(writer: WireWriter, field: number, key: string): WireWriter {
  return writer.bytes(field, keyBytes(key));
}
