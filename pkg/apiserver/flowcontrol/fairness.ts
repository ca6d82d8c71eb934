/**
 * API priority and fairness: classifies each request, and lets it run when its priority level has seats for it. Requests
 * of daemons in this process pass without, because their workers bound their number.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Turns } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import { holdSeats, whenOver } from '#apiserver/flowcontrol/held-response.js';
import { matchesSchema } from '#apiserver/flowcontrol/matching.js';
import type { AppliedSchema } from '#apiserver/flowcontrol/priority-level.js';
import type { FlowControlSeries, Side, SideSamples } from '#apiserver/flowcontrol/series.js';
import { Ticket } from '#apiserver/flowcontrol/ticket.js';
import type { WatchTracker } from '#apiserver/flowcontrol/watch-tracker.js';
import { listWork, oneSeat, type Work, writeWork } from '#apiserver/flowcontrol/work.js';
import type { ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { isLongRunning, type RequestInfo } from '#apiserver/http/request-info.js';
import type { FlowControl, Leave } from '#apiserver/pipeline/flow-control.js';
import { LongBody } from '#http/server/body.js';

export interface FairnessOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly series: FlowControlSeries;
  readonly watches: WatchTracker;
  /** Objects of a resource in the store; undefined where this server does not store it. */
  readonly stored: (group: string, resource: string) => number | undefined;
  /** Longest time that a watch takes a seat for its initial events. */
  readonly watchStartMs: number;
  /** Called for each refused request. */
  readonly refused: (side: Side, context: RequestContext) => void;
  /**
   * Requests that have waited begin in turns: the store answers many writes at once, and each frees the seat of another
   * request. Absent: they begin at once.
   */
  readonly turns?: Turns;
}

/** Changes that are noted before they become samples: half as many requests. */
const maxNoted = 512;

/** Requests of one side. */
class SideCount {
  waiting = 0;
  executing = 0;
  readonly #samples: SideSamples;
  /** Of executing requests: instants and differences, alternating. */
  readonly #noted = new Float64Array(2 * maxNoted);
  #count = 0;

  constructor(samples: SideSamples) {
    this.#samples = samples;
  }

  wait(nowMs: number, by: 1 | -1): void {
    this.waiting += by;
    this.#samples.waiting.add(nowMs, by);
  }

  execute(nowMs: number, by: 1 | -1): void {
    this.executing += by;
    if (this.#count === this.#noted.length) this.sample(nowMs);
    this.#noted[this.#count++] = nowMs;
    this.#noted[this.#count++] = by;
  }

  /** Turns what was noted into samples. */
  sample(nowMs: number): void {
    const { waiting, executing } = this.#samples;
    executing.addAll(this.#noted, this.#count);
    this.#count = 0;
    for (const samples of [waiting, executing]) samples.add(nowMs, 0);
  }
}

/** Kinds of requests that are kept for a user. */
const maxKinds = 256;

const nothing = () => undefined;

export class Fairness implements FlowControl {
  readonly #options: FairnessOptions;
  readonly #reads: SideCount;
  readonly #writes: SideCount;
  /** In the order in which they are tried. */
  #schemas: readonly AppliedSchema[] = [];
  /** The schemas of users' requests by what rules look at. Authenticators return the same object for the same user. */
  #classified = new WeakMap<UserInfo, Map<string, AppliedSchema>>();

  constructor(options: FairnessOptions) {
    this.#options = options;
    const { series, clock } = options;
    this.#reads = new SideCount(series.side('readOnly', clock.monotonic()));
    this.#writes = new SideCount(series.side('mutating', clock.monotonic()));
  }

  /** Executing requests; of watches, those that begin. */
  get current(): Readonly<Record<Side, number>> {
    return { readOnly: this.#reads.executing, mutating: this.#writes.executing };
  }

  /** Requests in queues. */
  get waiting(): Readonly<Record<Side, number>> {
    return { readOnly: this.#reads.waiting, mutating: this.#writes.waiting };
  }

  /** Sets the flow schemas, of which the last one is for all other requests. There is at least one before the first request. */
  apply(schemas: readonly AppliedSchema[]): void {
    this.#schemas = schemas;
    this.#classified = new WeakMap();
  }

  /** Called from time to time. */
  sample(nowMs: number): void {
    for (const side of [this.#reads, this.#writes]) side.sample(nowMs);
  }

  enter(context: RequestContext, passesOn: boolean): MaybePromise<Leave> {
    const { info, request } = context;
    if (info.verb === 'watch' && info.resourceRequest) return this.#watch(context);
    if (request.user !== undefined || isLongRunning(info)) return nothing;
    const place = this.#place(context, passesOn);
    return place instanceof Promise
      ? place.then((each) => this.#leaving(context, each))
      : this.#leaving(context, place);
  }

  /** A response that holds memory takes it from its level's part, and keeps the seats until it is sent. */
  #leaving(context: RequestContext, { budget, free }: Place): Leave {
    return (response) => {
      const { body } = response ?? {};
      if (response === undefined || body === undefined) return free();
      if (budget !== undefined && (body instanceof LongBody || body.length >= budgetedBytes)) response.budget = budget;
      if (!(body instanceof LongBody)) return free();
      holdSeats(context, { response, free, clock: this.#options.clock });
    };
  }

  /** A watch takes a seat until its initial events are sent, and counts for writes until it ends. */
  #watch(context: RequestContext): MaybePromise<Leave> {
    if (context.request.user !== undefined) return this.#watching(context, undefined);
    const place = this.#place(context, false);
    return place instanceof Promise
      ? place.then((free) => this.#watching(context, free))
      : this.#watching(context, place);
  }

  #watching(context: RequestContext, place: Place | undefined): Leave {
    const { watches, clock, watchStartMs } = this.#options;
    const forget = watches.add(context.info);
    let begun = place === undefined;
    const begin = () => {
      if (begun) return;
      begun = true;
      timer?.cancel();
      place?.free();
    };
    const timer = begun ? undefined : clock.setTimer(begin, watchStartMs);
    context.initialized = begin;
    return (response) =>
      whenOver(context, response, () => {
        begin();
        forget();
      });
  }

  /** Resolves when the request may run. */
  #place(context: RequestContext, passesOn: boolean): MaybePromise<Place> {
    const { info, user } = context;
    const schema = this.#classify(context);
    const { level, flow } = schema;
    context.responseHeaders = schema.headers;
    const side = isReading(info.verb) ? this.#reads : this.#writes;
    const { queues } = level;
    if (queues === undefined) return this.#begin({ context, schema, side });
    if (passesOn) {
      if (level.passedOn >= queues.limit) throw this.#refusal({ context, schema, side }, 'concurrency-limit');
      level.passedOn++;
      return this.#begin({ context, schema, side, passedOn: true });
    }
    const work = this.#estimate(context, schema);
    flow.estimatedSeats.observe(Math.max(work.initialSeats, work.finalSeats));
    const distinguisher = schema.distinguish(user.name, info.namespace);
    const ticket = new Ticket(flow, distinguisher, work, context);
    queues.enter(ticket, schema.hand(distinguisher));
    const entry = { context, schema, side, ticket };
    if (ticket.state === 'executing') {
      flow.waitedToExecute.observe(0);
      return this.#begin(entry);
    }
    if (ticket.state === 'waiting') return this.#wait(entry);
    flow.waitedInVain(0);
    throw this.#refused(entry);
  }

  #classify(context: RequestContext): AppliedSchema {
    const { info, user } = context;
    let kinds = this.#classified.get(user);
    if (kinds === undefined) {
      kinds = new Map();
      this.#classified.set(user, kinds);
    }
    const kind = kindOf(info);
    const cached = kinds.get(kind);
    if (cached !== undefined) return cached;
    if (kinds.size >= maxKinds) kinds.clear();
    const schemas = this.#schemas;
    const schema = schemas.find((each) => matchesSchema(each.schema, context)) ?? schemas.at(-1);
    if (schema === undefined) throw new TypeError('no flow schema');
    kinds.set(kind, schema);
    return schema;
  }

  #estimate({ info }: RequestContext, { flow }: AppliedSchema): Work {
    const { stored, watches } = this.#options;
    switch (info.verb) {
      case 'list':
        return listWork({ name: info.name, query: info.query, stored: stored(info.group, info.resource) });
      case 'create':
      case 'update':
      case 'patch':
      case 'delete': {
        const count = watches.interested(info);
        flow.watches(count);
        return writeWork(count);
      }
      default:
        return oneSeat;
    }
  }

  /** Ends with the request's seats, the end of the request, or the configured time. */
  #wait(entry: Entry & { readonly ticket: Ticket }): Promise<Place> {
    const { context, schema, side, ticket } = entry;
    const { clock } = this.#options;
    side.wait(clock.monotonic(), 1);
    return new Promise((resolve, reject) => {
      const { cancellation } = context;
      const cancel = () => schema.level.queues?.cancel(ticket);
      ticket.decided = () => {
        ticket.decided = undefined;
        cancellation.removeEventListener('abort', cancel);
        const nowMs = clock.monotonic();
        side.wait(nowMs, -1);
        const seconds = (nowMs - ticket.arrivedMs) / 1000;
        if (ticket.state === 'executing') {
          schema.flow.waitedToExecute.observe(seconds);
          const place = this.#begin(entry);
          const wait = this.#options.turns?.pause();
          if (wait === undefined) resolve(place);
          else void wait.then(() => resolve(place));
          return;
        }
        schema.flow.waitedInVain(seconds);
        reject(this.#refused(entry));
      };
      cancellation.addEventListener('abort', cancel, { once: true });
      if (cancellation.aborted) cancel();
    });
  }

  #begin(entry: Entry): Place {
    const { clock } = this.#options;
    const { side, schema } = entry;
    schema.flow.dispatched.value++;
    const startedMs = clock.monotonic();
    side.execute(startedMs, 1);
    return {
      budget: schema.level.budget,
      free: () => this.#end(entry, startedMs),
    };
  }

  #end({ context, schema, side, ticket, passedOn = false }: Entry, startedMs: number): void {
    const { level, flow } = schema;
    const nowMs = this.#options.clock.monotonic();
    const seconds = (nowMs - startedMs) / 1000;
    if (context.info.verb === 'watch') flow.watchOpened(seconds);
    else flow.executionSeconds.observe(seconds);
    side.execute(nowMs, -1);
    if (passedOn) level.passedOn--;
    if (ticket !== undefined) level.queues?.finish(ticket);
  }

  #refusal(entry: Entry, reason: string): Error {
    entry.schema.flow.refused(reason);
    return this.#refused(entry);
  }

  /** As in 1.24; the queue set has counted the reason. */
  #refused({ context, side }: Entry): Error {
    this.#options.refused(side === this.#reads ? 'readOnly' : 'mutating', context);
    return tooManyRequests('Too many requests, please try again later.', 1);
  }
}

/** A request at its priority level. */
interface Entry {
  readonly context: RequestContext;
  readonly schema: AppliedSchema;
  readonly side: SideCount;
  /** Absent at the exempt level, and for requests that other servers answer. */
  readonly ticket?: Ticket;
  readonly passedOn?: boolean;
}

interface Place {
  readonly budget: ApiResponse['budget'];
  /** Call it once. */
  readonly free: () => void;
}

/** Smaller bodies are not budgeted. */
const budgetedBytes = 32 * 1024;

function kindOf({ resourceRequest, verb, group, resource, subresource, namespace, path }: RequestInfo): string {
  return resourceRequest ? `${verb} ${group}/${resource}/${subresource} ${namespace}` : `${verb} ${path}`;
}

function isReading(verb: RequestInfo['verb']): boolean {
  return verb === 'get' || verb === 'list' || verb === 'watch';
}
