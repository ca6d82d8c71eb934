/**
 * What an operator does with an etcd: its members, their sizes, alarms, defragmentation, snapshots. Nothing here is hot, so
 * it goes through the public client library; objects are read and written by the `Store`. That library takes time and memory
 * to load, so who may not need it loads this file by `import()`.
 */
import { Readable } from 'node:stream';
import { Etcd3, type IMember } from 'etcd3';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { withIdentities } from '#etcd-admin/identities.js';

/** PEM, as `EndpointTls`. */
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

/** What etcd, or the way to it, answered instead. */
export class EtcdAdminError extends Error {
  override readonly name = 'EtcdAdminError';
}

export interface EtcdMember {
  /** Decimal, as etcd's messages have it. */
  readonly id: string;
  readonly name: string;
  /** Where clients reach it; empty while it has not started. */
  readonly clientURLs: readonly string[];
  /** Where the other members reach it. */
  readonly peerURLs: readonly string[];
  /** Gets the log, but has no vote yet. */
  readonly isLearner: boolean;
}

export interface MemberStatus {
  /** Id of the member that answers. */
  readonly memberID: string;
  readonly version: string;
  /** Of the file, bytes. */
  readonly sizeBytes: number;
  /** What a defragmentation would leave of it, bytes. */
  readonly usedBytes: number;
  /** Id of the member that leads, `0` for none. */
  readonly leader: string;
  /** Last entry of the log that it has applied. */
  readonly appliedIndex: number;
}

export interface EtcdAlarm {
  readonly memberID: string;
  readonly type: string;
}

/** Longest time of one call, ms. A defragmentation or a snapshot may take longer. */
const callMs = 10_000;
const defragmentMs = 600_000;
/** Until members are connected that can be, ms: etcd wants five seconds of it (server.go, HealthInterval). */
const settleMs = 20_000;
const settlePollMs = 500;
/** A change of members is done within a heartbeat or not at all. */
const changeMs = 3000;
/** What is answered until then, by etcd or in its place. */
const unsettled = /unhealthy cluster|deadline exceeded|timed out/i;
/** As numbers, by which both know them: the library's names of these are not those of the protocol. */
const alarmActions = { get: 0, deactivate: 2 };
const alarmTypes = ['NONE', 'NOSPACE', 'CORRUPT'];

export class EtcdAdmin {
  readonly #access: EtcdAccess;
  readonly #all: Etcd3;
  /** A client for each address that one member is asked at. */
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
   * Makes room for a member that has not started yet. As a learner it cannot cost the others their majority while it gets
   * what they have. Etcd refuses a second learner, and members at a time when not all others are connected.
   */
  async addLearner(peerURL: string): Promise<EtcdMember> {
    const request = { peerURLs: [peerURL], isLearner: true };
    const { member } = await this.#call(this.#all.cluster.memberAdd(request, this.#within(callMs)));
    return memberOf(member);
  }

  /** Gives a learner its vote. Etcd refuses as long as it is behind. */
  async promote(id: string): Promise<void> {
    await this.#call(this.#all.cluster.memberPromote({ ID: id }, this.#within(callMs)));
  }

  /**
   * Takes a member out for good: it stops by itself where it runs. Tries again while etcd refuses because members have not
   * been connected for long, which is so after each change of them, and where it does not answer: what is asked while a
   * leader is chosen gets lost.
   */
  async removeMember(id: string): Promise<void> {
    const { clock } = this.#access;
    const deadlineMs = clock.monotonic() + settleMs;
    for (let isFirst = true; ; isFirst = false) {
      // The library takes each refusal for a failure of the member that told it, and keeps away from it after some.
      const once = this.#connect(this.#access.endpoints);
      try {
        await this.#call(once.cluster.memberRemove({ ID: id }, this.#within(changeMs)));
        return;
      } catch (error) {
        const why = messageOf(error);
        // An attempt without an answer may have done it.
        if (!isFirst && why.includes('member not found')) return;
        if (!unsettled.test(why) || clock.monotonic() > deadlineMs) throw error;
      } finally {
        once.close();
      }
      await clock.sleep(settlePollMs);
    }
  }

  /** Says where the other members reach it from now on. */
  async moveMember(id: string, peerURL: string): Promise<void> {
    await this.#call(this.#all.cluster.memberUpdate({ ID: id, peerURLs: [peerURL] }, this.#within(callMs)));
  }

  /** Of the member at this address alone. */
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

  /** No error when it is not raised any more. */
  async disarm({ memberID, type }: EtcdAlarm): Promise<void> {
    const request = { action: alarmActions.deactivate, memberID, alarm: alarmTypes.indexOf(type) };
    await this.#call(this.#all.maintenance.alarm(request, this.#within(callMs)));
  }

  /** Gives unused pages back. The member at this address answers nothing meanwhile. */
  async defragment(endpoint: string): Promise<void> {
    await this.#call(this.#member(endpoint).maintenance.defragment(this.#within(defragmentMs)));
  }

  /** The member at this address, which leads, hands over to another. */
  async moveLeader(endpoint: string, to: string): Promise<void> {
    await this.#call(this.#member(endpoint).maintenance.moveLeader({ targetID: to }, this.#within(callMs)));
  }

  /** The whole store of one member as bytes: the file of its database, and behind it the SHA-256 of that. */
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
