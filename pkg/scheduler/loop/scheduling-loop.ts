/**
 * Informers → queue → decision → assume → bind. The loop decides on one pod at a time, while bindings run concurrently.
 * A loop runs once: each term as leader starts a new loop without state from earlier terms.
 */

import { once } from 'node:events';
import type { Registry } from 'prom-client';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { LiveObjects } from '#scheduler/cluster/live-objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { type Consultation, interestedIn } from '#scheduler/decision/extenders.js';
import type { Snapshot } from '#scheduler/explain/snapshot.js';
import type { Extender } from '#scheduler/framework/extender.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Handle } from '#scheduler/framework/plugin.js';
import { type Profile, withExtenders } from '#scheduler/framework/profile.js';
import { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import { withTimes } from '#scheduler/framework/with-times.js';
import { apiBinder, type Binder } from '#scheduler/loop/binder.js';
import { BindingCycle } from '#scheduler/loop/binding-cycle.js';
import { ClusterFeed } from '#scheduler/loop/cluster-feed.js';
import { FailedAttempts } from '#scheduler/loop/failed-attempts.js';
import { PendingWrites } from '#scheduler/loop/pending-writes.js';
import { type AttemptOutcome, AttemptSpan, type TracedMetrics, tracedMetrics } from '#scheduler/loop/traced-attempt.js';
import { UnconfirmedBindings } from '#scheduler/loop/unconfirmed-bindings.js';
import type { SchedulerMetrics, SchedulerState } from '#scheduler/metrics/metrics.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Evictions } from '#scheduler/preemption/evictions.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { type QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface SchedulingLoopOptions {
  client: Client;
  /** Shared caches, started by their owner. Absent: the scheduler creates its own. */
  informers?: InformerFactory;
  /** Registry for the metrics of the loop's own caches. */
  readonly registry?: Registry;
  recorder: EventRecorder;
  dialect: Dialect;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: SchedulerMetrics;
  profiles?: readonly Profile[];
  /** Extenders of all profiles; closed with the scheduler. */
  extenders?: readonly Extender[];
  binder?: Binder;
  maxUnschedulableMs?: number;
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /** 0 or absent: depends on the size of the cluster. */
  percentageOfNodesToScore?: number;
  /** Limit of concurrent bindings; at the limit the loop waits. */
  maxBindings?: number;
  /** Traces attempts; absent: no tracing. */
  tracer?: Pick<Tracer, 'begin'>;
}

export class SchedulingLoop {
  readonly #options: SchedulingLoopOptions;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #cluster: Cluster;
  readonly #queue: SchedulingQueue;
  readonly #algorithm: Algorithm;
  readonly #feed: ClusterFeed;
  readonly #nominator: Nominator;
  readonly #bindings: BindingCycle;
  readonly #failedAttempts: FailedAttempts;
  readonly #waitingPods: WaitingPods;
  readonly #writes: PendingWrites;
  readonly #unconfirmed: UnconfirmedBindings;
  readonly #stopped = new AbortController();
  /** Aborts before `#stopped`: pending decisions are dropped. */
  readonly #stopping = new AbortController();
  readonly #informers: InformerFactory;
  /** Absent: no tracing. */
  readonly #tracedMetrics: TracedMetrics | undefined;
  /** A write was refused because this process no longer leads. */
  #termOver = false;

  constructor(options: SchedulingLoopOptions) {
    this.#options = options;
    const { client, clock, dialect, log, random, recorder } = options;
    const { extenders = [] } = options;
    this.#tracedMetrics = options.tracer && tracedMetrics(options.metrics);
    const metrics = this.#tracedMetrics ?? options.metrics;
    const times = { clock, recorder: () => metrics.callRecorder() };
    const profiles = (options.profiles ?? [defaultProfile(dialect)]).map((profile) =>
      withExtenders(withTimes(profile, times), extenders, this.#stopped.signal),
    );
    this.#profiles = new Map(profiles.map((profile) => [profile.schedulerName, profile]));
    this.#informers = options.informers ?? ownInformers(options);
    this.#writes = new PendingWrites(options.maxBindings ?? 64, log);
    const queue = new SchedulingQueue({
      clock,
      ...(profiles[0] === undefined ? {} : { before: profiles[0].queueSort.point }),
      onIncoming: (name, event) => metrics.incoming(name, event),
      ...(options.maxUnschedulableMs === undefined ? {} : { maxUnschedulableMs: options.maxUnschedulableMs }),
      ...(options.initialBackoffMs === undefined ? {} : { initialBackoffMs: options.initialBackoffMs }),
      ...(options.maxBackoffMs === undefined ? {} : { maxBackoffMs: options.maxBackoffMs }),
    });
    const nominator = new Nominator();
    const objects = new LiveObjects(this.#informers, dialect);
    const cluster = new Cluster(dialect, objects);
    const algorithm = new Algorithm({
      cluster,
      nominator,
      random,
      percentageOfNodesToScore: options.percentageOfNodesToScore ?? 0,
      clock,
      times: metrics,
    });
    const waitingPods = new WaitingPods(clock);
    const feed = new ClusterFeed({
      waitingPods,
      pods: this.#informers.informer(pods),
      nodes: this.#informers.informer(nodes),
      objects,
      cluster,
      queue,
      nominator,
      serves: (name) => this.#profiles.has(name),
    });
    const onTermOver = () => this.#endTerm();
    const shared = { clock, log, recorder, metrics, feed, queue, nominator, onTermOver };
    const binder = options.binder ?? apiBinder(client);
    const handle: Handle = { client, clock, cluster, binder, waitingPods, metrics };
    this.#cluster = cluster;
    this.#queue = queue;
    this.#algorithm = algorithm;
    this.#feed = feed;
    this.#nominator = nominator;
    this.#waitingPods = waitingPods;
    this.#failedAttempts = new FailedAttempts({
      ...shared,
      binder,
      handle,
      algorithm,
      preemption: new Preemption({ cluster, nominator, random }),
      evictions: new Evictions({ client, recorder, nominator, log, waitingPods, onTermOver }),
      consultation: (pod) => this.#consultation(pod),
    });
    this.#unconfirmed = new UnconfirmedBindings({ clock, log, cluster, onExpired: (pod) => feed.handleExpired(pod) });
    this.#bindings = new BindingCycle({
      ...shared,
      cluster,
      failedAttempts: this.#failedAttempts,
      handle,
      unconfirmed: this.#unconfirmed,
      waitingPods,
      writes: this.#writes,
      stopped: this.#stopped.signal,
    });
  }

  pod(key: string): Pod | undefined {
    return this.#informers.informer(pods).get(key);
  }

  pods(): readonly Pod[] {
    return this.#informers.informer(pods).list();
  }

  /** Keys of the pods that are ready for an attempt, in one, or being bound. */
  unfinished(): readonly string[] {
    return [...this.#queue.unfinished(), ...this.#writes.pods()];
  }

  snapshot(): Snapshot {
    return {
      nodes: this.#cluster.nodes().flatMap(({ node }) => node ?? []),
      placed: [...this.#cluster.placed()],
      nominated: [...this.#nominator.entries()],
      objects: this.#cluster.objects,
    };
  }

  /** Runs until `stop` aborts; calls `synced` when the caches are filled. Rejects when the loop cannot go on. */
  async run(stop: AbortSignal, synced: () => void): Promise<void> {
    const unfollow = this.#feed.follow();
    const { metrics } = this.#options;
    metrics.observe(() => this.#state());
    const onStop = () => {
      this.#queue.close();
      this.#stopping.abort();
    };
    stop.addEventListener('abort', onStop, { once: true });
    const ended = new AbortController();
    const own = this.#options.informers === undefined ? this.#informers : undefined;
    const informing = own?.start(AbortSignal.any([stop, ended.signal]));
    // Handle a failure that occurs before the promise is awaited below.
    informing?.catch(() => undefined);
    try {
      await this.#informers.waitForSync(stop);
      synced();
      for (let pod = await this.#queue.next(); pod !== undefined; pod = await this.#queue.next()) {
        await this.#schedule(pod);
      }
      // The elector notices the lost lease by itself and aborts `stop`.
      if (this.#termOver && !stop.aborted) await once(stop, 'abort');
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      metrics.observe(undefined);
      unfollow();
      onStop();
      this.#stopped.abort();
      this.#unconfirmed.close();
      this.#waitingPods.rejectAll('the scheduler stops');
      await this.#writes.settled();
      stop.removeEventListener('abort', onStop);
      ended.abort();
      await informing;
    }
  }

  /** Stops deciding until the loop is stopped, since further writes would be refused as well. */
  #endTerm(): void {
    if (this.#termOver) return;
    this.#termOver = true;
    this.#options.log.warn('lost leadership: writes are refused, so scheduling stops');
    this.#queue.close();
    this.#stopping.abort();
  }

  async #schedule(queued: QueuedPod): Promise<void> {
    const profile = this.#profiles.get(queued.info.pod.spec.schedulerName ?? '');
    if (profile === undefined || this.#feed.current(queued) === undefined) return this.#queue.done(queued);
    if (this.#tracedMetrics === undefined) return this.#attempt(queued, profile);
    const span = AttemptSpan.begin(this.#options.tracer, queued, this.#options.clock);
    this.#tracedMetrics.current = span;
    return span === undefined
      ? this.#attempt(queued, profile)
      : span.within(() => this.#attempt(queued, profile, span));
  }

  async #attempt(queued: QueuedPod, profile: Profile, span?: AttemptSpan): Promise<void> {
    const { clock, metrics } = this.#options;
    const started = clock.monotonic();
    const consultation = this.#consultation(queued.info);
    try {
      const { node } =
        consultation === undefined
          ? this.#algorithm.schedule(queued.info, profile)
          : await this.#algorithm.scheduleWith(consultation, queued.info, profile);
      metrics.decided(clock.monotonic() - started);
      // The pod may have been deleted while the extenders answered.
      if (consultation !== undefined && this.#feed.current(queued) === undefined) return this.#drop(queued, span);
      await this.#bindings.start({ queued, node, profile, started, span: span });
    } catch (error) {
      await this.#failed(queued, profile, error, { started, traced: span });
    }
  }

  #drop(queued: QueuedPod, span: AttemptSpan | undefined): void {
    this.#queue.done(queued);
    span?.end({ result: 'dropped' });
  }

  async #failed(
    queued: QueuedPod,
    profile: Profile,
    error: unknown,
    { started, traced: span }: { readonly started: number; readonly traced: AttemptSpan | undefined },
  ): Promise<void> {
    const { clock, log, metrics } = this.#options;
    if (this.#stopping.signal.aborted) return this.#drop(queued, span);
    const { key } = queued.info;
    const elapsed = () => clock.monotonic() - started;
    if (error instanceof FitError) {
      const room = await this.#failedAttempts.makeRoom(queued, profile, error);
      const reported = this.#failedAttempts.unschedulable(queued, profile, error, room);
      await this.#writes.start(key, withSpan(reported, span, { result: 'unschedulable', message: messageOf(error) }));
      metrics.attempt('unschedulable', profile.schedulerName, elapsed());
      return;
    }
    log.error({ err: error, pod: key }, 'scheduling failed');
    metrics.attempt('error', profile.schedulerName, elapsed());
    const message = messageOf(error);
    await this.#writes.start(
      key,
      withSpan(this.#failedAttempts.failed(queued, message), span, { result: 'error', message }),
    );
  }

  /** Undefined if no extender is interested: the decision is then synchronous. */
  #consultation(pod: PodInfo): Consultation | undefined {
    const extenders = interestedIn(pod, this.#options.extenders ?? []);
    if (extenders.length === 0) return undefined;
    const { log } = this.#options;
    return {
      extenders,
      stop: this.#stopping.signal,
      onFailure: (extender, point, err) =>
        log.warn({ err, extender, point, pod: pod.key }, 'extender failed: deciding without it'),
    };
  }

  /** The state that the gauges show. */
  #state(): SchedulerState {
    const rejected = new Map<string, { plugin: string; profile: string; pods: number }>();
    for (const { info, rejectedBy } of this.#queue.waiting()) {
      const profile = info.pod.spec.schedulerName ?? '';
      for (const plugin of rejectedBy) {
        const key = `${profile} ${plugin}`;
        const counted = rejected.get(key);
        rejected.set(key, { plugin, profile, pods: (counted?.pods ?? 0) + 1 });
      }
    }
    return {
      pending: this.#queue.sizes,
      unschedulable: [...rejected.values()],
      cache: this.#cluster.sizes,
      bindings: this.#writes.size,
    };
  }
}

/** Ends the attempt's span when the work ends. */
function withSpan(work: Promise<void>, span: AttemptSpan | undefined, outcome: AttemptOutcome): Promise<void> {
  return span === undefined ? work : work.finally(() => span.end(outcome));
}

function ownInformers({ client, clock, log, random, registry }: SchedulingLoopOptions): InformerFactory {
  return new SharedInformerFactory({
    client,
    clock,
    random,
    log,
    transform: dropManagedFields,
    ...(registry === undefined ? {} : { metrics: registry }),
  });
}
