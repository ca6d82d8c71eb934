/** One inquiry: reads each object once, answers each question once, and bounds its depth and its number of reads. */
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type Finding, type Subject, subjectText } from '#insight/inquiry/finding.js';
import { type Observations, type Scope, type StoredObject, Unreadable } from '#insight/inquiry/observations.js';

/** Chains of causes are shorter; longer ones are loops of owners. */
const maxDepth = 8;
/** Reads of one inquiry. */
const maxReads = 400;

export type Lookup<T> =
  | { readonly state: 'present'; readonly object: T }
  | { readonly state: 'absent' }
  /** The caller may not read it, or the inquiry has read enough. */
  | { readonly state: 'unreadable' };

/** The causes of one object's trouble; empty for a healthy object. */
export type Question<T> = (inquiry: Inquiry, object: T) => Promise<readonly Finding[]>;

export class Inquiry {
  readonly dialect: Dialect;
  readonly nowMs: number;
  readonly #observations: Observations;
  readonly #reads = new Map<string, Promise<unknown>>();
  readonly #answers = new Map<string, Promise<readonly Finding[]>>();
  readonly #unreadable = new Set<string>();
  #depth = 0;

  constructor(dialect: Dialect, observations: Observations) {
    this.dialect = dialect;
    this.nowMs = observations.nowMs;
    this.#observations = observations;
  }

  /** Names of the resources that could not be read. */
  get unreadable(): readonly string[] {
    return [...this.#unreadable].sort();
  }

  async get<T extends StoredObject>(type: ResourceType<T>, name: string, namespace?: string): Promise<Lookup<T>> {
    const key = `get ${type.group} ${type.resource} ${namespace ?? ''} ${name}`;
    const object = await this.#read(key, type.resource, () => this.#observations.get(type, name, namespace));
    if (object === unread) return { state: 'unreadable' };
    return object === undefined ? { state: 'absent' } : { state: 'present', object };
  }

  /** Undefined if the caller may not list them. */
  async list<T extends StoredObject>(type: ResourceType<T>, scope: Scope): Promise<readonly T[] | undefined> {
    const key = `list ${type.group} ${type.resource} ${JSON.stringify(scope)}`;
    const objects = await this.#read(key, type.resource, () => this.#observations.list(type, scope));
    return objects === unread ? undefined : objects;
  }

  /** The newest first; none where they cannot be read. */
  async events(subject: Subject): Promise<readonly Event[]> {
    const key = `events ${subjectText(subject)}`;
    const events = await this.#read(key, 'events', () => this.#observations.events(subject));
    if (events === unread) return [];
    return [...events].sort((a, b) => lastSeenMs(b) - lastSeenMs(a));
  }

  /** The last lines of a container; none where they cannot be read. */
  async logTail(pod: Pod, container: string, previous: boolean): Promise<readonly string[]> {
    const { logTail } = this.#observations;
    if (logTail === undefined) return [];
    const key = `log ${pod.metadata.uid ?? pod.metadata.name} ${container} ${previous}`;
    const lines = await this.#read(key, 'pods/log', () => logTail.call(this.#observations, pod, container, previous));
    return lines === unread ? [] : lines;
  }

  /** What the scheduler says beyond the pod's condition; undefined where it cannot be asked. */
  async placement(pod: Pod): Promise<readonly Finding[] | undefined> {
    const { placement } = this.#observations;
    if (placement === undefined) return undefined;
    const key = `placement ${pod.metadata.uid ?? pod.metadata.name}`;
    const findings = await this.#read(key, 'nodes', () => placement.call(this.#observations, pod));
    return findings === unread ? undefined : findings;
  }

  /** The causes of another object's trouble, once; none below the depth of an inquiry, and none for an object that is being asked about. */
  causes<T>(subject: Subject, question: Question<T>, object: T): Promise<readonly Finding[]> {
    const key = subjectText(subject);
    const before = this.#answers.get(key);
    if (before !== undefined) return before;
    if (this.#depth >= maxDepth) return Promise.resolve([]);
    // While the question is open, the object is no cause of itself.
    this.#answers.set(key, Promise.resolve([]));
    const answer = this.#ask(question, object);
    return answer.then((findings) => {
      this.#answers.set(key, answer);
      return findings;
    });
  }

  async #ask<T>(question: Question<T>, object: T): Promise<readonly Finding[]> {
    this.#depth++;
    try {
      return await question(this, object);
    } finally {
      this.#depth--;
    }
  }

  #read<T>(key: string, resource: string, read: () => Promise<T>): Promise<T | typeof unread> {
    const before = this.#reads.get(key);
    if (before !== undefined) return before as Promise<T | typeof unread>;
    if (this.#reads.size >= maxReads) return Promise.resolve(unread);
    const result = read().catch((error: unknown): typeof unread => {
      if (!(error instanceof Unreadable)) throw error;
      this.#unreadable.add(resource);
      return unread;
    });
    this.#reads.set(key, result);
    return result;
  }
}

const unread: unique symbol = Symbol('unread');

function lastSeenMs({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: Event): number {
  const text = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp;
  return text === undefined ? 0 : Date.parse(text);
}
