/** Writes to etcd with what Node.js itself has, and nothing around it. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { type EtcdWriteResponse, readConditionalWriteResponse, WireReader } from '#storage/etcd/answers.js';
import { conditionalWriteRequest } from '#storage/etcd/requests.js';
import type { Revision } from '#storage/store.js';

/** Flag and length before a gRPC message. */
const prefixBytes = 5;

export class RawEtcd {
  readonly #session: ClientHttp2Session;

  constructor(endpoint: string) {
    this.#session = connect(endpoint);
  }

  /** One transaction: puts `value` when the key's mod revision is `expected` (0: there is no such key). */
  async put(key: string, value: Buffer, expected: Revision): Promise<EtcdWriteResponse> {
    const answer = await this.#call(
      '/etcdserverpb.KV/Txn',
      conditionalWriteRequest({ key, expected, write: { type: 'put', value } }).finish(),
    );
    return readConditionalWriteResponse(new WireReader(answer.subarray(prefixBytes)));
  }

  #call(path: string, message: Buffer): Promise<Buffer> {
    const framed = Buffer.allocUnsafe(prefixBytes + message.length);
    framed[0] = 0;
    framed.writeUInt32BE(message.length, 1);
    message.copy(framed, prefixBytes);
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.once('error', reject);
      stream.once('end', () => resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)));
      stream.end(framed);
    });
  }
}
