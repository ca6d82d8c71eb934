/**
 * The scheduler at work: informers → queue → decision → assume → bind. One pod is decided at a time; bindings run
 * beside it. A loop runs once: whoever leads again begins with a new one, which knows nothing of the old.
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
import { apiBinder, type Binder } from '#scheduler/binder.js';
import { BindingCycle } from '#scheduler/binding-cycle.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { LiveObjects } from '#scheduler/cluster/live-objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { ClusterFeed } from '#scheduler/cluster-feed.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { type Consultation, interestedIn } from '#scheduler/decision/extenders.js';
import type { Snapshot } from '#scheduler/explain/snapshot.js';
import { FailedTries } from '#scheduler/failed-tries.js';
import type { Extender } from '#scheduler/framework/extender.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Handle } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import { withExtenders } from '#scheduler/framework/with-extenders.js';
import { withTimes } from '#scheduler/framework/with-times.js';
import type { SchedulerMetrics, SchedulerState } from '#scheduler/metrics/metrics.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Evictions } from '#scheduler/preemption/evictions.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { type QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';
import { type TracedMetrics, TracedTry, type TryOutcome, tracedMetrics } from '#scheduler/traced-try.js';
import { UnseenBindings } from '#scheduler/unseen-bindings.js';
import { Writes } from '#scheduler/writes.js';

export interface SchedulingLoopOptions {
  client: Client;
  /** Caches shared with others, which whoever made them starts. Absent: the scheduler has its own. */
  informers?: InformerFactory;
  /** Where the loop's own caches count. */
  readonly registry?: Registry;
  recorder: EventRecorder;
  dialect: Dialect;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: SchedulerMetrics;
  profiles?: readonly Profile[];
  /** What decides along with the profiles' plugins; closed with the scheduler. */
  extenders?: readonly Extender[];
  binder?: Binder;
  maxUnschedulableMs?: number;
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /** 0 or absent: by the size of the cluster. */
  percentageOfNodesToScore?: number;
  /** Bindings under way at once; further decisions wait. */
  maxBindings?: number;
  /** Of tries; absent: nothing is traced. */
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
  readonly #failedTries: FailedTries;
  readonly #waitingPods: WaitingPods;
  readonly #writes: Writes;
  readonly #unseen: UnseenBindings;
  readonly #stopped = new AbortController();
  /** Aborts before `#stopped`: no decision is worth waiting for any more. */
  readonly #stopping = new AbortController();
  readonly #informers: InformerFactory;
  /** Absent: nothing is traced. */
  readonly #traced: TracedMetrics | undefined;
  /** A write was refused because this process does not lead any more. */
  #termOver = false;

  constructor(options: SchedulingLoopOptions) {
    this.#options = options;
    const { client, clock, dialect, log, random, recorder } = options;
    const { extenders = [] } = options;
    this.#traced = options.tracer && tracedMetrics(options.metrics);
    const metrics = this.#traced ?? options.metrics;
    const times = { clock, recorder: () => metrics.callRecorder() };
    const profiles = (options.profiles ?? [defaultProfile(dialect)]).map((profile) =>
      withExtenders(withTimes(profile, times), extenders, this.#stopped.signal),
    );
    this.#profiles = new Map(profiles.map((profile) => [profile.schedulerName, profile]));
    this.#informers = options.informers ?? ownInformers(options);
    this.#writes = new Writes(options.maxBindings ?? 64, log);
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
    this.#failedTries = new FailedTries({
      ...shared,
      binder,
      handle,
      algorithm,
      preemption: new Preemption({ cluster, nominator, random }),
      evictions: new Evictions({ client, recorder, nominator, log, waitingPods, onTermOver }),
      consultation: (pod) => this.#consultation(pod),
    });
    this.#unseen = new UnseenBindings({ clock, log, cluster, onExpired: (pod) => feed.expired(pod) });
    this.#bindings = new BindingCycle({
      ...shared,
      cluster,
      failedTries: this.#failedTries,
      handle,
      unseen: this.#unseen,
      waitingPods,
      writes: this.#writes,
      stopped: this.#stopped.signal,
    });
  }

  /** What an explanation is worked out from. */
  pod(key: string): Pod | undefined {
    return this.#informers.informer(pods).get(key);
  }

  snapshot(): Snapshot {
    return {
      nodes: this.#cluster.nodes().flatMap(({ node }) => node ?? []),
      placed: [...this.#cluster.placed()],
      nominated: [...this.#nominator.entries()],
      objects: this.#cluster.objects,
    };
  }

  /** Works until `stop` aborts; calls `synced` when its caches are filled. Rejects when the work cannot go on. */
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
    // Awaited below; until then a failure must not count as unhandled.
    informing?.catch(() => undefined);
    try {
      await this.#informers.waitForSync(stop);
      synced();
      for (let pod = await this.#queue.next(); pod !== undefined; pod = await this.#queue.next()) {
        await this.#schedule(pod);
      }
      // The elector finds out by itself, and says so.
      if (this.#termOver && !stop.aborted) await once(stop, 'abort');
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      metrics.observe(undefined);
      unfollow();
      onStop();
      this.#stopped.abort();
      this.#unseen.close();
      this.#waitingPods.rejectAll('the scheduler stops');
      await this.#writes.settled();
      stop.removeEventListener('abort', onStop);
      ended.abort();
      await informing;
    }
  }

  /** Whatever is decided now would be refused, too: nothing more is, until the loop is stopped. */
  #endTerm(): void {
    if (this.#termOver) return;
    this.#termOver = true;
    this.#options.log.warn('writes are refused because this process does not lead any more: nothing more is decided');
    this.#queue.close();
    this.#stopping.abort();
  }

  async #schedule(queued: QueuedPod): Promise<void> {
    const profile = this.#profiles.get(queued.info.pod.spec.schedulerName ?? '');
    if (profile === undefined || this.#feed.current(queued) === undefined) return this.#queue.done(queued);
    if (this.#traced === undefined) return this.#try(queued, profile);
    const traced = TracedTry.begin(this.#options.tracer, queued, this.#options.clock);
    this.#traced.current = traced;
    return traced === undefined ? this.#try(queued, profile) : traced.within(() => this.#try(queued, profile, traced));
  }

  async #try(queued: QueuedPod, profile: Profile, traced?: TracedTry): Promise<void> {
    const { clock, metrics } = this.#options;
    const started = clock.monotonic();
    const consultation = this.#consultation(queued.info);
    try {
      const { node } =
        consultation === undefined
          ? this.#algorithm.schedule(queued.info, profile)
          : await this.#algorithm.scheduleWith(consultation, queued.info, profile);
      metrics.decided(clock.monotonic() - started);
      // Extenders take their time, in which the pod may have gone.
      if (consultation !== undefined && this.#feed.current(queued) === undefined) return this.#drop(queued, traced);
      await this.#bindings.start({ queued, node, profile, started, traced });
    } catch (error) {
      await this.#failed(queued, profile, error, { started, traced });
    }
  }

  #drop(queued: QueuedPod, traced: TracedTry | undefined): void {
    this.#queue.done(queued);
    traced?.end({ result: 'dropped' });
  }

  async #failed(
    queued: QueuedPod,
    profile: Profile,
    error: unknown,
    { started, traced }: { readonly started: number; readonly traced: TracedTry | undefined },
  ): Promise<void> {
    const { clock, log, metrics } = this.#options;
    if (this.#stopping.signal.aborted) return this.#drop(queued, traced);
    const { key } = queued.info;
    const took = () => clock.monotonic() - started;
    if (error instanceof FitError) {
      const room = await this.#failedTries.makeRoom(queued, profile, error);
      const told = this.#failedTries.unschedulable(queued, profile, error, room);
      await this.#writes.start(key, ended(told, traced, { result: 'unschedulable', message: messageOf(error) }));
      metrics.attempt('unschedulable', profile.schedulerName, took());
      return;
    }
    log.error({ err: error, pod: key }, 'scheduling failed');
    metrics.attempt('error', profile.schedulerName, took());
    const message = messageOf(error);
    await this.#writes.start(
      key,
      ended(this.#failedTries.erred(queued, message), traced, { result: 'error', message }),
    );
  }

  /** Undefined where no extender is interested, so that the decision waits for nobody. */
  #consultation(pod: PodInfo): Consultation | undefined {
    const extenders = interestedIn(pod, this.#options.extenders ?? []);
    if (extenders.length === 0) return undefined;
    const { log } = this.#options;
    return {
      extenders,
      stop: this.#stopping.signal,
      onFailure: (extender, point, err) =>
        log.warn({ err, extender, point, pod: pod.key }, 'extender failed: the decision goes on without it'),
    };
  }

  /** What the gauges tell. */
  #state(): SchedulerState {
    const rejected = new Map<string, { plugin: string; profile: string; pods: number }>();
    for (const { info, rejectedBy } of this.#queue.waiting()) {
      const profile = info.pod.spec.schedulerName ?? '';
      for (const plugin of rejectedBy) {
        const key = `${profile} ${plugin}`;
        const known = rejected.get(key);
        rejected.set(key, { plugin, profile, pods: (known?.pods ?? 0) + 1 });
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

/** The same work, at the end of which the try ends, too. */
function ended(work: Promise<void>, traced: TracedTry | undefined, outcome: TryOutcome): Promise<void> {
  return traced === undefined ? work : work.finally(() => traced.end(outcome));
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
