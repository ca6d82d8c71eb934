/** Counts requests as they come, in bounded memory: of too many clients or objects, the longest unused are forgotten. */
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { isWrite, nameOf, type RequestRecord, resourceOf } from '#testcluster/report/record.js';
import type { AgentTrack, CollectionTrack, Creation, ObjectTrack, RepeatTrack } from '#testcluster/report/tracks.js';

const limits = {
  agents: 200,
  requestsOfAgent: 500,
  objects: 20_000,
  repeats: 20_000,
  collections: 5000,
  creations: 20_000,
};
/** Times kept per object and request. */
const keptTimes = 24;
/** A pause that grows by less than this does not back off. */
const growth = 1.3;
/** Longer pauses need not grow. */
const patientMs = 30_000;

export class RequestLog {
  readonly agents = new LruCache<string, AgentTrack>({ limit: limits.agents });
  readonly objects = new LruCache<string, ObjectTrack>({ limit: limits.objects });
  readonly repeats = new LruCache<string, RepeatTrack>({ limit: limits.repeats });
  readonly collections = new LruCache<string, CollectionTrack>({ limit: limits.collections });
  readonly creations = new LruCache<string, Creation>({ limit: limits.creations });
  /** Objects whose deletion was requested. */
  readonly deletions = new LruCache<string, Creation>({ limit: limits.creations });
  /** The version of each object that a response last showed. */
  readonly #versions = new LruCache<string, string>({ limit: limits.objects });

  /** `path`: of the object that was created or deleted; undefined otherwise. */
  add(record: RequestRecord, path: string | undefined): void {
    this.#count(record);
    this.#repeat(record);
    if (record.verb === 'list' || record.verb === 'watch') this.#collection(record);
    if (record.name !== '' && record.verb !== 'list' && record.verb !== 'watch') this.#object(record);
    if (path !== undefined && record.status < 300) this.#life(record, path);
  }

  #count({ userAgent, atMs, verb, status, reason, ...rest }: RequestRecord): void {
    const fresh = { userAgent, requests: 0, firstMs: atMs, lastMs: atMs, byRequest: new Map(), watches: 0 };
    const agent = this.agents.get(userAgent) ?? fresh;
    this.agents.set(userAgent, agent);
    agent.requests += 1;
    agent.lastMs = atMs;
    if (verb === 'watch' && status < 300) agent.watches += 1;
    const resource = resourceOf(rest);
    const key = `${verb} ${resource}`;
    const counts = agent.byRequest.get(key) ?? { verb, resource, count: 0, errors: new Map<string, number>() };
    if (agent.byRequest.size < limits.requestsOfAgent) agent.byRequest.set(key, counts);
    counts.count += 1;
    if (status >= 400) counts.errors.set(reason, (counts.errors.get(reason) ?? 0) + 1);
  }

  #repeat(record: RequestRecord): void {
    const { userAgent, verb, atMs, status, reason, retryAfterSeconds } = record;
    const what = `${verb} ${resourceOf(record)} ${nameOf(record)}`.trim();
    const key = `${userAgent}\n${what}`;
    const fresh: RepeatTrack = {
      ...{ userAgent, what, count: 0, lastMs: atMs, gaps: [], failures: 0, failureGaps: [], lastReason: '' },
      ...{ eager: 0, eagerReason: '', notBeforeMs: 0, tooEarly: 0 },
    };
    const track = this.repeats.get(key) ?? fresh;
    this.repeats.set(key, track);
    const gap = atMs - track.lastMs;
    if (track.count > 0) keep(track.gaps, gap);
    if (atMs < track.notBeforeMs) track.tooEarly += 1;
    track.notBeforeMs = status >= 400 && retryAfterSeconds > 0 ? atMs + retryAfterSeconds * 1000 : 0;
    if (status >= 400 && status !== 404) {
      if (track.failures > 0 && reason === track.lastReason) keep(track.failureGaps, gap);
      else track.failureGaps = [];
      track.failures = reason === track.lastReason ? track.failures + 1 : 1;
      if (!grows(track.failureGaps) && track.failures > track.eager) {
        track.eager = track.failures;
        track.eagerReason = reason;
      }
      track.lastReason = reason;
    } else {
      track.failures = 0;
      track.failureGaps = [];
      track.lastReason = '';
    }
    track.count += 1;
    track.lastMs = atMs;
  }

  #collection(record: RequestRecord): void {
    const { userAgent, resource, namespace, verb, status, isFullList, fromVersion } = record;
    const track = this.#collectionOf(userAgent, resource, namespace);
    if (verb === 'list') {
      if (isFullList) track.fullLists += 1;
      // A list is how a client resumes after a version that was too old.
      if (status < 300) track.expiredVersion = '';
      return;
    }
    if (status === 410) track.expiredVersion = fromVersion;
    track.watches += 1;
    track.isCutOff = false;
    if (track.expiredVersion !== '' && track.expiredVersion === fromVersion && status !== 410) track.stubborn += 1;
    if (fromVersion === '' && track.watches > 1) track.watchesFromNowhere += 1;
    if (status < 300) track.open += 1;
  }

  #collectionOf(userAgent: string, resource: string, namespace: string): CollectionTrack {
    const key = `${userAgent}\n${resource}\n${namespace}`;
    const fresh: CollectionTrack = {
      ...{ userAgent, resource, namespace, fullLists: 0, watches: 0, open: 0, watchesFromNowhere: 0 },
      ...{ expiredVersion: '', isCutOff: false, cutOffs: 0, stubborn: 0 },
    };
    const track = this.collections.get(key) ?? fresh;
    this.collections.set(key, track);
    return track;
  }

  /** A watch ended: by its client, because its version was too old, or by the server. */
  watchEnded(record: RequestRecord, end: 'client' | 'expired' | 'server'): void {
    const track = this.#collectionOf(record.userAgent, record.resource, record.namespace);
    track.open = Math.max(0, track.open - 1);
    if (end === 'client') return;
    track.cutOffs += 1;
    if (track.open === 0) track.isCutOff = true;
    if (end === 'expired') track.expiredVersion = record.fromVersion === '' ? '0' : record.fromVersion;
  }

  #object(record: RequestRecord): void {
    const { userAgent, resource, verb, atMs, status, reason, sent, received } = record;
    const object = `${resource}\n${nameOf(record)}`;
    const key = `${userAgent}\n${object}`;
    const fresh: ObjectTrack = {
      ...{ userAgent, resource, name: nameOf(record), reads: 0, unchangedReads: 0, lastReadVersion: '', writes: 0 },
      ...{ unchangedWrites: 0, changes: [], unconditionalUpdates: 0, unconditionalDeletes: 0 },
      ...{ conflicts: 0, failedWrite: '' },
    };
    const track = this.objects.get(key) ?? fresh;
    this.objects.set(key, track);
    const version = received?.resourceVersion ?? '';
    const before = this.#versions.get(object) ?? '';
    if (verb === 'get' && version !== '') {
      track.reads += 1;
      if (track.lastReadVersion === version) track.unchangedReads += 1;
      track.lastReadVersion = version;
    }
    if (isWrite(verb) && status < 300 && version !== '') {
      track.writes += 1;
      if (version === before || version === sent?.resourceVersion) track.unchangedWrites += 1;
      else keep(track.changes, atMs);
      if (verb === 'update' && sent?.resourceVersion === '') track.unconditionalUpdates += 1;
    }
    if (verb === 'delete' && status < 300 && !record.hasPreconditions) track.unconditionalDeletes += 1;
    if (isWrite(verb) || verb === 'delete' || verb === 'create') {
      const isLost = status === 409 || status === 429 || status >= 500;
      if (reason === 'Conflict') track.conflicts += 1;
      track.failedWrite = isLost && reason !== 'AlreadyExists' ? reason : '';
    }
    if (version !== '') this.#versions.set(object, version);
  }

  #life(record: RequestRecord, path: string): void {
    const { userAgent, resource, namespace, name, verb, sent, received } = record;
    const uid = received?.uid ?? '';
    const life = { userAgent, resource, path, namespace, name, uid, isOwned: sent?.isOwned === true };
    if (verb === 'create') this.creations.set(path, life);
    if (verb === 'delete') this.deletions.set(path, life);
  }
}

function keep(times: number[], time: number): void {
  times.push(time);
  if (times.length > keptTimes) times.shift();
}

/** Whether pauses grow, or are long enough. */
function grows(gaps: readonly number[]): boolean {
  const [first = 0] = gaps;
  const last = gaps.at(-1) ?? 0;
  return gaps.length < 2 || last >= patientMs || (last > 0 && last > first * growth);
}
