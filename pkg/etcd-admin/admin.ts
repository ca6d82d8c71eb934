/**
 * Administration of etcd: members, sizes, alarms, defragmentation, snapshots. None of it is hot, so it uses the public client
 * library; the `Store` reads and writes objects. Loading the library takes time and memory, so callers that may not need it
 * use `import()`.
 */
import { Readable } from 'node:stream';
import { Etcd3, type IMember } from 'etcd3';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { withIdentities } from '#etcd-admin/identities.js';

/** PEM, like `EndpointTls`. */
export interface EtcdAccessTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface EtcdAccess {
  readonly clock: Clock;
  /** `http://127.0.0.1:2379`, `https://…`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdAccessTls;
}

/** An error of etcd, or of the connection to it. */
export class EtcdAdminError extends Error {
  override readonly name = 'EtcdAdminError';
}

export interface EtcdMember {
  /** Decimal. */
  readonly id: string;
  readonly name: string;
  /** URLs for clients; empty before its first start. */
  readonly clientURLs: readonly string[];
  /** URLs for the other members. */
  readonly peerURLs: readonly string[];
  /** It receives the log, but has no vote yet. */
  readonly isLearner: boolean;
}

export interface MemberStatus {
  /** Id of the answering member. */
  readonly memberID: string;
  readonly version: string;
  /** Size of the database file, bytes. */
  readonly sizeBytes: number;
  /** Size after a defragmentation, bytes. */
  readonly usedBytes: number;
  /** Id of the leader, `0` for none. */
  readonly leader: string;
  /** Last applied entry of the log. */
  readonly appliedIndex: number;
}

export interface EtcdAlarm {
  readonly memberID: string;
  readonly type: string;
}

/** Time limit of a call, ms. A defragmentation or a snapshot may take longer. */
const callMs = 10_000;
const defragmentMs = 600_000;
/** Longest wait until members count as connected, ms: etcd requires five seconds (server.go, HealthInterval). */
const settleMs = 20_000;
const settlePollMs = 500;
/** Time limit of a change of members, which is done within a heartbeat or not at all. */
const changeMs = 3000;
/** Errors before members count as connected. */
const unsettled = /unhealthy cluster|deadline exceeded|timed out/i;
/** Numbers of the protocol, since the library's names differ from the protocol's. */
const alarmActions = { get: 0, deactivate: 2 };
const alarmTypes = ['NONE', 'NOSPACE', 'CORRUPT'];

export class EtcdAdmin {
  readonly #access: EtcdAccess;
  readonly #all: Etcd3;
  /** A client for each address of a single member. */
  readonly #members = new Map<string, Etcd3>();

  constructor(access: EtcdAccess) {
    this.#access = access;
    this.#all = this.#connect(access.endpoints);
  }

  async members(): Promise<EtcdMember[]> {
    const { members } = await this.#call(this.#all.cluster.memberList({}, this.#within(callMs)));
    return members.map(memberOf);
  }

  /**
   * Adds a member before its first start. A learner does not count for the majority while it catches up. etcd refuses a
   * second learner, and new members while an existing one is not connected.
   */
  async addLearner(peerURL: string): Promise<EtcdMember> {
    return this.#add(peerURL, true);
  }

  /** Adds a member with a vote before its first start: it counts for the majority at once. */
  async addVoter(peerURL: string): Promise<EtcdMember> {
    return this.#add(peerURL, false);
  }

  async #add(peerURL: string, isLearner: boolean): Promise<EtcdMember> {
    const request = { peerURLs: [peerURL], isLearner };
    const { member } = await this.#call(this.#all.cluster.memberAdd(request, this.#within(callMs)));
    return memberOf(member);
  }

  /** Gives a learner a vote. etcd refuses while it lags behind. */
  async promote(id: string): Promise<void> {
    await this.#call(this.#all.cluster.memberPromote({ ID: id }, this.#within(callMs)));
  }

  /**
   * Removes a member for good; its process exits. Retries while etcd refuses because members were connected only recently,
   * which is so after each change, and while it does not answer: requests during an election get lost.
   */
  async removeMember(id: string): Promise<void> {
    const { clock } = this.#access;
    const deadlineMs = clock.monotonic() + settleMs;
    for (let isFirst = true; ; isFirst = false) {
      // A new client for each attempt: the library counts refusals as failures of the member, and avoids it after some.
      const client = this.#connect(this.#access.endpoints);
      try {
        await this.#call(client.cluster.memberRemove({ ID: id }, this.#within(changeMs)));
        return;
      } catch (error) {
        const problem = messageOf(error);
        // An unanswered attempt may have succeeded.
        if (!isFirst && problem.includes('member not found')) return;
        if (!unsettled.test(problem) || clock.monotonic() > deadlineMs) throw error;
      } finally {
        client.close();
      }
      await clock.sleep(settlePollMs);
    }
  }

  /** Changes the URL at which the other members reach it. */
  async moveMember(id: string, peerURL: string): Promise<void> {
    await this.#call(this.#all.cluster.memberUpdate({ ID: id, peerURLs: [peerURL] }, this.#within(callMs)));
  }

  /** Status of the member at this address. */
  async status(endpoint: string): Promise<MemberStatus> {
    const answer = await this.#call(this.#member(endpoint).maintenance.status(this.#within(callMs)));
    return {
      memberID: answer.header.member_id,
      version: answer.version,
      sizeBytes: Number(answer.dbSize),
      usedBytes: Number(answer.dbSizeInUse),
      leader: answer.leader,
      appliedIndex: Number(answer.raftAppliedIndex),
    };
  }

  async alarms(): Promise<EtcdAlarm[]> {
    const { alarms } = await this.#call(
      this.#all.maintenance.alarm({ action: alarmActions.get }, this.#within(callMs)),
    );
    return alarms.map(({ memberID, alarm }) => ({ memberID, type: alarm.toUpperCase() }));
  }

  /** No error for an alarm that is not raised. */
  async disarm({ memberID, type }: EtcdAlarm): Promise<void> {
    const request = { action: alarmActions.deactivate, memberID, alarm: alarmTypes.indexOf(type) };
    await this.#call(this.#all.maintenance.alarm(request, this.#within(callMs)));
  }

  /** Releases unused pages of the member at this address, which answers no requests meanwhile. */
  async defragment(endpoint: string): Promise<void> {
    await this.#call(this.#member(endpoint).maintenance.defragment(this.#within(defragmentMs)));
  }

  /** Moves the leadership from the member at this address to another one. */
  async moveLeader(endpoint: string, to: string): Promise<void> {
    await this.#call(this.#member(endpoint).maintenance.moveLeader({ targetID: to }, this.#within(callMs)));
  }

  /** The database file of one member, followed by its SHA-256. */
  async *snapshot(): AsyncGenerator<Buffer, void, void> {
    const stream: unknown = await this.#call(this.#all.maintenance.snapshot());
    if (!(stream instanceof Readable)) throw new Error('the etcd client gave no stream');
    try {
      for await (const { blob } of stream as AsyncIterable<{ blob: Buffer }>) yield blob;
    } catch (error) {
      throw new EtcdAdminError(messageOf(error), { cause: error });
    } finally {
      stream.destroy();
    }
  }

  close(): void {
    for (const client of [this.#all, ...this.#members.values()]) client.close();
    this.#members.clear();
  }

  #member(endpoint: string): Etcd3 {
    let client = this.#members.get(endpoint);
    if (client === undefined) {
      client = this.#connect([endpoint]);
      this.#members.set(endpoint, client);
    }
    return client;
  }

  #connect(endpoints: readonly string[]): Etcd3 {
    const { ca, cert, key } = this.#access.tls ?? {};
    const own = cert === undefined || key === undefined ? {} : { certChain: cert, privateKey: key };
    const hosts = [...endpoints];
    if (ca === undefined) return new Etcd3({ hosts });
    const credentials = { rootCertificate: ca, ...own };
    return withIdentities(endpoints, (grpcOptions) => new Etcd3({ hosts, credentials, grpcOptions }));
  }

  #within(ms: number): { deadline: number } {
    return { deadline: this.#access.clock.now() + ms };
  }

  async #call<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw new EtcdAdminError(messageOf(error), { cause: error });
    }
  }
}

function memberOf({ ID, name, clientURLs, peerURLs, isLearner }: IMember): EtcdMember {
  return { id: ID, name, clientURLs, peerURLs, isLearner };
}
