/** The controller manager: starts the chosen controllers, while it leads. */
import { setMaxListeners } from 'node:events';
import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { SigningAuthorities } from '#controllers/csrsigning/controller.js';
import type { Controller, ControllerContext, EventSink } from '#controllers/framework/context.js';
import { type ControllerMetrics, controllerMetrics } from '#controllers/framework/metrics.js';
import { gatedControllers, selectControllers } from '#controllers/options/names.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { controllerFactories } from '#controllers/registry.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { HealthCheck } from '#daemon/serving/health.js';
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
  readonly events: EventSink;
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
  readonly rootCA?: string;
  /** Of the signers of certificates; absent: none is signed. */
  readonly authorities?: SigningAuthorities;
  /** Signs tokens of service accounts; absent: no secrets of tokens are filled in. */
  readonly tokenKey?: JwtSigningKey;
}

type ControllerState = 'waiting' | 'running' | 'stopped' | 'failed';

export class ControllerManager implements Daemon {
  readonly name: string;
  readonly #values: ControllerManagerValues;
  readonly #dependencies: ControllerManagerDependencies;
  readonly #stop = new AbortController();
  readonly #ready = deferred();
  readonly #states = new Map<string, ControllerState>();
  #running: Promise<void> | undefined;

  constructor(values: ControllerManagerValues, dependencies: ControllerManagerDependencies) {
    this.name = dependencies.dialect.components.controllerManager;
    this.#values = values;
    this.#dependencies = dependencies;
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

  start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    const { leadership } = this.#dependencies;
    const work = (leading: AbortSignal) => this.#lead(leading);
    // A manager that stands by is ready: nothing but the other one's end is missing.
    if (leadership !== undefined) this.#ready.resolve();
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
    this.#states.clear();
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
    const { client, dialect, clock, random, log, events, metrics, series } = this.#dependencies;
    const context: ControllerContext = {
      client,
      informers,
      dialect,
      clock,
      random,
      log,
      events,
      metrics: series ?? controllerMetrics(metrics),
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

  #makeControllers(context: ControllerContext): Controller[] {
    const { selected, named } = selectControllers(
      this.#values.controllers,
      gatedControllers(new FeatureGates(this.#values['feature-gates'])),
    );
    const controllers: Controller[] = [];
    const { owns = () => true, rootCA, authorities = {}, tokenKey } = this.#dependencies;
    for (const name of selected.filter(owns)) {
      const factory = controllerFactories[name];
      if (factory === undefined) {
        if (named.has(name)) context.log.warn({ controller: name }, 'This controller does not exist yet; not started');
        else context.log.debug({ controller: name }, 'This controller does not exist yet; not started');
        continue;
      }
      const client = this.#dependencies.clientFor?.(name) ?? context.client;
      const controller = factory({ ...context, client }, { values: this.#values, rootCA, authorities, tokenKey });
      if (controller === undefined) {
        context.log.warn({ controller: name }, 'This controller has nothing to do with these options; not started');
        continue;
      }
      this.#states.set(name, 'waiting');
      controllers.push(controller);
    }
    return controllers;
  }

  async #run(controller: Controller, signal: AbortSignal): Promise<void> {
    this.#states.set(controller.name, 'running');
    try {
      await controller.run(signal);
      this.#states.set(controller.name, 'stopped');
    } catch (error) {
      this.#states.set(controller.name, 'failed');
      throw new Error(`controller ${controller.name} failed`, { cause: error });
    }
  }
}
