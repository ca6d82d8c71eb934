/** The controller manager: starts the chosen controllers, while it leads. */
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
  /** Of the caches, and of all controllers unless `clientFor` is given. */
  readonly client: Client;
  /** A client for one controller, with a rate of its own, so that a busy one does not hold up the others. */
  readonly clientFor?: (controller: string) => Client;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Of the events that name `component`, on behalf of the controller. */
  readonly events: (component: string, controller: string) => EventSink;
  readonly metrics?: Registry;
  /** Of all controllers, where another manager of this process has some too; absent: made from `metrics`. */
  readonly series?: ControllerMetrics;
  /** Caches shared with others, which whoever made them starts. Absent: the manager has its own. */
  readonly informers?: InformerFactory;
  /** Absent: leads always. */
  readonly leadership?: Leadership;
  /** Of the selected controllers, those that are this manager's; absent: all. */
  readonly owns?: (controller: string) => boolean;
  /** PEM bundle that verifies the API server; absent: it is not published. */
  readonly rootCA?: Followed<string>;
  /** Of the signers of certificates; absent: none is signed. */
  readonly authorities?: SigningAuthorities;
  /** Signs tokens of service accounts; absent: no secrets of tokens are filled in. */
  readonly tokenKey?: Followed<JwtSigningKey>;
  readonly recyclers?: ControllerInputs['recyclers'];
  /** Absent: directories of this machine cannot be volumes. */
  readonly hostDirectories?: ControllerInputs['hostDirectories'];
  /** Of `--cloud-provider`; absent: the controllers that need one are not started. */
  readonly cloud?: CloudProvider;
  /** Of reconciles; absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'begin'>;
}

type ControllerState = 'waiting' | 'running' | 'stopped' | 'failed';

const notLeading = 'this process does not lead';

/** What is the same for all controllers. */
type CommonContext = Omit<ControllerContext, 'events' | 'eventsFrom' | 'onLoop'>;

/** What one controller is at, for whoever looks for a fault. */
export interface ControllerReport {
  /** As in `--controllers`. */
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
  /** Controller → why it does not run although it was chosen. */
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

  /** State of each chosen controller; empty while another process leads. */
  states(): ReadonlyMap<string, ControllerState> {
    return this.#states;
  }

  /** One for each controller that runs or has failed, by its name; none while another process leads. */
  checks(): HealthCheck[] {
    const present = [...this.#states].filter(([, state]) => state !== 'stopped');
    return present.map(([name, state]) => ({
      name,
      check: () => {
        if (state === 'failed') throw new Error(`controller ${name} has failed`);
      },
    }));
  }

  /** All that are this manager's, by name, those that do not run too. `limit`: keys that each list names. */
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

  start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    const { leadership } = this.#dependencies;
    const work = (leading: AbortSignal) => this.#lead(leading);
    // A manager that stands by is ready: nothing but the other one's end is missing.
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
    // Why it failed is told to whoever started it.
    await this.#running?.catch(() => undefined);
  }

  /** One term: everything begins anew, for what was known in an earlier one may have changed since. */
  async #lead(signal: AbortSignal): Promise<void> {
    for (const earlier of [this.#states, this.#reasons, this.#loops]) earlier.clear();
    const own = this.#dependencies.informers === undefined ? this.#makeInformers() : undefined;
    const informers = this.#dependencies.informers ?? own;
    if (informers === undefined) throw new TypeError('no informers');
    // The failure of one controller ends the others: a manager that does half its work helps nobody.
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, failed.signal]);
    // Every controller and informer listens.
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
      // One that fails before the others have been started ends the wait for them.
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
        log.warn({ controller }, 'Controller is disabled');
        continue;
      }
      const own: ControllerContext = {
        ...context,
        client: clientFor?.(controller) ?? context.client,
        events: events(eventSourceOf(controller), controller),
        eventsFrom: (component) => events(component, controller),
        onLoop: (loop) => this.#loops.set(controller, [...(this.#loops.get(controller) ?? []), loop]),
      };
      const made = controllerFactories[controller]?.(own, inputs);
      if (made === undefined || typeof made === 'string') {
        const reason = made ?? 'this manager does not have it';
        this.#reasons.set(controller, reason);
        log.warn({ controller, reason }, 'Skipping controller');
        continue;
      }
      this.#states.set(controller, 'waiting');
      controllers.push(made);
    }
    return controllers;
  }

  async #run(controller: Controller, signal: AbortSignal): Promise<void> {
    this.#states.set(controller.name, 'running');
    this.#dependencies.log.info({ controller: controller.name }, 'Started controller');
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
