/** The controller manager: runs the selected controllers while it leads. */
import { setMaxListeners } from 'node:events';
import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import type { CloudProvider } from '#cloud/provider/provider.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { SigningAuthorities } from '#controllers/csrsigning/controller.js';
import type { ControllerInputs } from '#controllers/factory.js';
import type { Controller, ControllerContext, EventSink } from '#controllers/framework/context.js';
import { type LoopReport, type Reporting, withoutSecrets } from '#controllers/framework/loop-report.js';
import { type ControllerMetrics, controllerMetrics } from '#controllers/framework/metrics.js';
import {
  type ControllerSelection,
  controllerNames,
  eventSourceOf,
  gatedControllers,
  selectControllers,
} from '#controllers/options/names.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { controllerFactories } from '#controllers/registry.js';
import type { Followed } from '#daemon/certificates/followed-file.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { HealthCheck } from '#daemon/serving/health.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { JwtSigningKey } from '#pki/jwt.js';

export interface ControllerManagerDependencies {
  /** The client of the caches, and of all controllers without `clientFor`. */
  readonly client: Client;
  /** Makes a client for one controller, with its own rate limit, so that a busy controller does not delay the others. */
  readonly clientFor?: (controller: string) => Client;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Makes the recorder of a controller's events from `component`. */
  readonly events: (component: string, controller: string) => EventSink;
  readonly metrics?: Registry;
  /** Metrics shared with another manager in this process; by default created in `metrics`. */
  readonly series?: ControllerMetrics;
  /** Shared caches, started by their owner; by default the manager has its own. */
  readonly informers?: InformerFactory;
  /** Without it, the manager always leads. */
  readonly leadership?: Leadership;
  /** Whether this manager runs the controller if it is selected; by default always. */
  readonly owns?: (controller: string) => boolean;
  /** PEM bundle that verifies the API server; published if set. */
  readonly rootCA?: Followed<string>;
  /** Keys of the certificate signers; absent if nothing is signed. */
  readonly authorities?: SigningAuthorities;
  /** Signs service account tokens; without it, token secrets stay empty. */
  readonly tokenKey?: Followed<JwtSigningKey>;
  readonly recyclers?: ControllerInputs['recyclers'];
  /** Directories of this machine that can be volumes; absent if none can. */
  readonly hostDirectories?: ControllerInputs['hostDirectories'];
  /** The provider of `--cloud-provider`; controllers that need an absent provider are not started. */
  readonly cloud?: CloudProvider;
  /** Traces reconciles; absent when tracing is off. */
  readonly tracer?: Pick<Tracer, 'begin'>;
}

type ControllerState = 'waiting' | 'running' | 'stopped' | 'failed';

const notLeading = 'this process does not lead';

/** The part of the context that all controllers share. */
type CommonContext = Omit<ControllerContext, 'events' | 'eventsFrom' | 'onLoop'>;

/** The state of one controller, for debugging. */
export interface ControllerReport {
  /** The name in `--controllers`. */
  readonly name: string;
  readonly state: ControllerState | 'disabled' | 'skipped' | 'standby';
  /** Why it does not run. */
  readonly reason?: string;
  readonly loops: readonly LoopReport[];
}

export class ControllerManager implements Daemon {
  readonly name: string;
  readonly #values: ControllerManagerValues;
  readonly #dependencies: ControllerManagerDependencies;
  readonly #stop = new AbortController();
  readonly #ready = deferred();
  readonly #states = new Map<string, ControllerState>();
  readonly #gated: readonly string[];
  readonly #selection: ControllerSelection;
  /** Why a selected controller does not run, by controller. */
  readonly #reasons = new Map<string, string>();
  readonly #loops = new Map<string, Reporting[]>();
  #running: Promise<void> | undefined;

  constructor(values: ControllerManagerValues, dependencies: ControllerManagerDependencies) {
    this.name = dependencies.dialect.components.controllerManager;
    this.#values = values;
    this.#dependencies = dependencies;
    this.#gated = gatedControllers(new FeatureGates(values['feature-gates']));
    this.#selection = selectControllers(values.controllers, this.#gated);
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** The state of each selected controller; empty while another process leads. */
  states(): ReadonlyMap<string, ControllerState> {
    return this.#states;
  }

  /** A check for each running or failed controller; none while another process leads. */
  checks(): HealthCheck[] {
    const present = [...this.#states].filter(([, state]) => state !== 'stopped');
    return present.map(([name, state]) => ({
      name,
      check: () => {
        if (state === 'failed') throw new Error(`controller ${name} has failed`);
      },
    }));
  }

  /** All controllers of this manager, running or not, by name. `limit`: the maximum of keys in each list. */
  reports(limit: number): ControllerReport[] {
    const { owns = () => true } = this.#dependencies;
    const names = [...Object.keys(controllerNames), ...this.#gated].filter(owns).sort();
    return names.map((name) => {
      const state = this.#states.get(name);
      const loops = (this.#loops.get(name) ?? []).map((loop) => loop.report(limit));
      const reason = this.#reasons.get(name);
      if (state !== undefined) return { name, state, ...(reason === undefined ? {} : { reason }), loops };
      if (!this.#selection.selected.includes(name)) {
        return { name, state: 'disabled', reason: '--controllers does not choose it', loops };
      }
      if (reason !== undefined) return { name, state: 'skipped', reason, loops };
      return { name, state: 'standby', reason: notLeading, loops };
    });
  }

  /** The loops of the running controllers. */
  *loops(): Generator<Pick<Reporting, 'name' | 'queue'>> {
    for (const loops of this.#loops.values()) yield* loops;
  }

  start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    const { leadership } = this.#dependencies;
    const work = (leading: AbortSignal) => this.#lead(leading);
    // A standby counts as ready.
    if (leadership !== undefined && leadership.leadsAtOnce !== true) this.#ready.resolve();
    this.#running = (leadership === undefined ? work(stop) : leadership.lead(work, stop)).catch((error: unknown) => {
      this.#ready.reject(error);
      throw error;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#ready.reject(new Error(`${this.name} stopped`));
    // `start` reports the failure.
    await this.#running?.catch(() => undefined);
  }

  /** Runs one term, with fresh caches and state. */
  async #lead(signal: AbortSignal): Promise<void> {
    for (const earlier of [this.#states, this.#reasons, this.#loops]) earlier.clear();
    const own = this.#dependencies.informers === undefined ? this.#makeInformers() : undefined;
    const informers = this.#dependencies.informers ?? own;
    if (informers === undefined) throw new TypeError('no informers');
    // The failure of one controller stops the others, so that another process can take over.
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, failed.signal]);
    // Every controller and informer adds a listener.
    setMaxListeners(0, stop);
    const fail = (error: unknown) => failed.abort(error);
    const running = [own?.start(stop).catch(fail), this.#runControllers(informers, stop).catch(fail)];
    await Promise.all(running);
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  #makeInformers(): SharedInformerFactory {
    const { client, clock, random, log, metrics } = this.#dependencies;
    return new SharedInformerFactory({
      client,
      clock,
      random,
      log,
      transform: dropManagedFields,
      resyncMs: this.#values['min-resync-period'],
      ...(metrics === undefined ? {} : { metrics }),
    });
  }

  async #runControllers(informers: InformerFactory, signal: AbortSignal): Promise<void> {
    const { client, dialect, clock, random, log, metrics, series, tracer } = this.#dependencies;
    const context: CommonContext = {
      client,
      informers,
      dialect,
      clock,
      random,
      log,
      metrics: series ?? controllerMetrics(metrics),
      ...(tracer === undefined ? {} : { tracer }),
    };
    const controllers = this.#makeControllers(context);
    const running: Promise<void>[] = [];
    const failed = new AbortController();
    for (const [index, controller] of controllers.entries()) {
      if (index > 0) {
        const pause = AbortSignal.any([signal, failed.signal]);
        await clock.sleep(this.#values['controller-start-interval'], pause);
      }
      if (failed.signal.aborted) break;
      const work = this.#run(controller, signal);
      // A failure ends the pauses between starts.
      work.catch(() => failed.abort());
      running.push(work);
    }
    running.push(
      informers.waitForSync(signal).then(
        () => this.#ready.resolve(),
        (error: unknown) => {
          if (!signal.aborted) throw error;
        },
      ),
    );
    await Promise.all(running);
  }

  #makeControllers(context: CommonContext): Controller[] {
    const { owns = () => true, clientFor, events, rootCA, authorities = {}, tokenKey } = this.#dependencies;
    const { recyclers = {}, hostDirectories, cloud } = this.#dependencies;
    const { log } = context;
    const inputs = { values: this.#values, rootCA, authorities, tokenKey, recyclers, hostDirectories, cloud };
    const controllers: Controller[] = [];
    for (const controller of [...Object.keys(controllerNames), ...this.#gated].filter(owns)) {
      if (!this.#selection.selected.includes(controller)) {
        log.warn({ controller }, 'controller disabled');
        continue;
      }
      const own: ControllerContext = {
        ...context,
        client: clientFor?.(controller) ?? context.client,
        events: events(eventSourceOf(controller), controller),
        eventsFrom: (component) => events(component, controller),
        onLoop: (loop) => this.#loops.set(controller, [...(this.#loops.get(controller) ?? []), loop]),
      };
      const result = controllerFactories[controller]?.(own, inputs);
      if (result === undefined || typeof result === 'string') {
        const reason = result ?? 'not available in this manager';
        this.#reasons.set(controller, reason);
        log.warn({ controller, reason }, 'controller skipped');
        continue;
      }
      this.#states.set(controller, 'waiting');
      controllers.push(result);
    }
    return controllers;
  }

  async #run(controller: Controller, signal: AbortSignal): Promise<void> {
    this.#states.set(controller.name, 'running');
    this.#dependencies.log.info({ controller: controller.name }, 'controller started');
    try {
      await controller.run(signal);
      this.#states.set(controller.name, 'stopped');
      this.#reasons.set(controller.name, notLeading);
    } catch (error) {
      this.#states.set(controller.name, 'failed');
      this.#reasons.set(controller.name, withoutSecrets(messageOf(error)));
      throw new Error(`controller ${controller.name} failed`, { cause: error });
    }
  }
}
