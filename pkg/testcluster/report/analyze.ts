/** Finds what a client of the API should not do. Pure. */
import type { RequestLog } from '#testcluster/report/request-log.js';
import type { Creation } from '#testcluster/report/tracks.js';

/** In the order of the report; `--fail-on` takes these names. */
export const categories = [
  'hot-loops',
  'polling',
  'full-lists',
  'no-backoff',
  'conflicts',
  'unretried',
  'lost-updates',
  'deletes',
  'owners',
  'leftovers',
  'finalizers',
  'watches',
] as const;

export type Category = (typeof categories)[number];

export interface Finding {
  readonly category: Category;
  readonly userAgent: string;
  /** The object, collection or request. */
  readonly subject: string;
  readonly count: number;
  /** A sentence that says what was observed. */
  readonly message: string;
}

/** An object that still exists at the end. */
export interface Remainder {
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

interface Thresholds {
  readonly unchangedWrites: number;
  readonly unchangedReads: number;
  readonly changes: number;
  readonly changesWithinMs: number;
  readonly polls: number;
  readonly fullLists: number;
  readonly failures: number;
}

const standardThresholds: Thresholds = {
  unchangedWrites: 5,
  unchangedReads: 20,
  changes: 20,
  changesWithinMs: 10_000,
  polls: 8,
  fullLists: 3,
  failures: 5,
};

/** Kinds that are records and not parts of an application. */
const records: ReadonlySet<string> = new Set(['events', 'leases']);
const isRecord = (resource: string) => records.has(resource.split('.')[0] ?? '');

/** `remaining`: the objects of `creations` and `deletions` that still exist, by path. */
export function analyze(
  log: RequestLog,
  remaining: ReadonlyMap<string, Remainder>,
  thresholds: Thresholds = standardThresholds,
): Finding[] {
  const findings = [
    ...objectFindings(log, thresholds),
    ...repeatFindings(log, thresholds),
    ...collectionFindings(log, thresholds),
    ...lifeFindings(log, remaining),
  ];
  const rank = ({ category }: Finding) => categories.indexOf(category);
  return findings.sort((a, b) => rank(a) - rank(b) || b.count - a.count);
}

function* objectFindings(log: RequestLog, limits: Thresholds): Generator<Finding> {
  const watchers = watchersOf(log);
  for (const [, track] of log.objects.entries()) {
    const { userAgent, resource, name, reads, unchangedReads, writes, unchangedWrites, changes } = track;
    const finding = (category: Category, count: number, message: string): Finding => ({
      ...{ category, userAgent, count, message },
      subject: `${resource} ${name}`,
    });
    if (unchangedWrites >= limits.unchangedWrites)
      yield finding('hot-loops', unchangedWrites, `${unchangedWrites} of ${writes} writes changed nothing`);
    if (unchangedReads >= limits.unchangedReads)
      yield finding(
        'hot-loops',
        unchangedReads,
        `${unchangedReads} of ${reads} reads returned the version of the read before`,
      );
    const span = (changes.at(-1) ?? 0) - (changes.at(-limits.changes) ?? -Infinity);
    if (changes.length >= limits.changes && span <= limits.changesWithinMs)
      yield finding('hot-loops', changes.length, `changed ${limits.changes} times within ${span / 1000} s`);
    if (track.failedWrite === 'Conflict')
      yield finding('conflicts', track.conflicts, 'the last write failed with a conflict and was not tried again');
    else if (track.failedWrite !== '')
      yield finding('unretried', 1, `the last write failed with ${track.failedWrite} and was not tried again`);
    if (track.unconditionalUpdates > 0)
      yield finding(
        'lost-updates',
        track.unconditionalUpdates,
        'updated without a resource version: overwrites other writers',
      );
    if (track.unconditionalDeletes > 0 && watchers.has(userAgent))
      yield finding(
        'deletes',
        track.unconditionalDeletes,
        'deleted without a precondition: may hit a new object of that name',
      );
  }
}

function* repeatFindings(log: RequestLog, limits: Thresholds): Generator<Finding> {
  for (const [, track] of log.repeats.entries()) {
    const { userAgent, what, gaps } = track;
    const finding = (category: Category, count: number, message: string): Finding => ({
      ...{ category, userAgent, subject: what, count, message },
    });
    if (/^(get|list) /.test(what) && gaps.length >= limits.polls && areEqual(gaps.slice(-limits.polls)))
      yield finding(
        'polling',
        track.count,
        `repeated every ${(gaps.at(-1) ?? 0) / 1000} s; a watch would tell of changes`,
      );
    if (track.eager >= limits.failures)
      yield finding(
        'no-backoff',
        track.eager,
        `failed ${track.eager} times in a row with ${track.eagerReason || 'an error'}, without a growing pause`,
      );
    if (track.tooEarly > 0)
      yield finding('no-backoff', track.tooEarly, `repeated ${track.tooEarly} times before the server's Retry-After`);
  }
}

/** Whether the times are the same, but for a twentieth, and not zero. */
function areEqual(gaps: readonly number[]): boolean {
  const least = Math.min(...gaps);
  return least > 0 && Math.max(...gaps) <= least * 1.05;
}

function* collectionFindings(log: RequestLog, limits: Thresholds): Generator<Finding> {
  for (const [, track] of log.collections.entries()) {
    const { userAgent, resource, namespace, fullLists, watches } = track;
    const finding = (category: Category, count: number, message: string): Finding => ({
      ...{ category, userAgent, count, message },
      subject: namespace === '' ? resource : `${resource} of ${namespace}`,
    });
    // A client lists once for each watch.
    const repeated = fullLists - watches;
    if (repeated >= limits.fullLists)
      yield finding('full-lists', repeated, `listed in full ${fullLists} times, with ${watches} watches`);
    if (track.stubborn > 0)
      yield finding('watches', track.stubborn, 'watched again from a version that was too old (410), without a list');
    else if (track.isCutOff && track.open === 0)
      yield finding('watches', track.cutOffs, 'the last watch was ended by the server and not opened again');
    if (track.watchesFromNowhere >= limits.fullLists)
      yield finding(
        'watches',
        track.watchesFromNowhere,
        'watched again and again without a version: each watch sends everything anew',
      );
  }
}

function* lifeFindings(log: RequestLog, remaining: ReadonlyMap<string, Remainder>): Generator<Finding> {
  const watchers = watchersOf(log);
  const finding = (
    category: Category,
    { userAgent, resource, namespace, name }: Creation,
    message: string,
  ): Finding => ({
    ...{ category, userAgent, count: 1, message },
    subject: `${resource} ${namespace === '' ? name : `${namespace}/${name}`}`,
  });
  for (const [path, creation] of log.creations.entries()) {
    if (isRecord(creation.resource)) continue;
    if (!creation.isOwned && creation.namespace !== '' && watchers.has(creation.userAgent))
      yield finding('owners', creation, 'created without an owner reference: is not removed with what it belongs to');
    const rest = remaining.get(path);
    if (rest !== undefined && !rest.isDeleting) yield finding('leftovers', creation, 'was created and is still there');
  }
  for (const [path, deletion] of log.deletions.entries()) {
    const rest = remaining.get(path);
    if (rest?.isDeleting === true && rest.finalizers.length > 0)
      yield finding('finalizers', deletion, `is being deleted and waits for ${rest.finalizers.join(', ')}`);
  }
}

/** Clients that watch, as controllers do. */
function watchersOf(log: RequestLog): ReadonlySet<string> {
  return new Set([...log.agents.entries()].filter(([, { watches }]) => watches > 0).map(([userAgent]) => userAgent));
}
