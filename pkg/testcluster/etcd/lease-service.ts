/** The service Lease of etcd's API. */
import type { WireReader } from '#storage/etcd/answers.js';
import { WireWriter } from '#storage/etcd/requests.js';
import type { Revision } from '#storage/store.js';
import { answer, keyField } from '#testcluster/etcd/answers.js';
import type { Leases } from '#testcluster/etcd/leases.js';

export class LeaseService {
  readonly #leases: Leases;
  readonly #revision: () => Revision;

  constructor(leases: Leases, revision: () => Revision) {
    this.#leases = leases;
    this.#revision = revision;
  }

  grant(request: WireReader): WireWriter {
    let requested = 0n;
    let ttl = 0;
    while (request.next()) {
      if (request.field === 1) ttl = Number(request.int64());
      else if (request.field === 2) requested = request.int64();
    }
    const { id, seconds } = this.#leases.grant(requested, ttl);
    return answer(this.#revision()).int(2, id).int(3, seconds);
  }

  revoke(request: WireReader): WireWriter {
    this.#leases.revoke(readId(request));
    return answer(this.#revision());
  }

  /** One message of the stream. */
  keepAlive(request: WireReader): WireWriter {
    const id = readId(request);
    const seconds = this.#leases.keepAlive(id);
    return answer(this.#revision()).int(2, id).int(3, seconds);
  }

  timeToLive(request: WireReader): WireWriter {
    let id = 0n;
    let tellsKeys = false;
    while (request.next()) {
      if (request.field === 1) id = request.int64();
      else if (request.field === 2) tellsKeys = request.bool();
    }
    const lease = this.#leases.look(id);
    const written = answer(this.#revision()).int(2, id);
    if (lease === undefined) return written.int(3, -1);
    written.int(3, lease.leftSeconds).int(4, lease.grantedSeconds);
    if (tellsKeys) for (const key of lease.keys) keyField(written, 5, key);
    return written;
  }

  list(): WireWriter {
    const written = answer(this.#revision());
    for (const id of this.#leases.ids) written.message(2, new WireWriter().int(1, id));
    return written;
  }
}

function readId(reader: WireReader): bigint {
  let id = 0n;
  while (reader.next()) if (reader.field === 1) id = reader.int64();
  return id;
}
