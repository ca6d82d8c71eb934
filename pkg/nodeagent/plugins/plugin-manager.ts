/** Registers plugins whose sockets appear, and deregisters those whose sockets disappear (1.24's plugin manager). */

import { aborted } from '#apimachinery/async/abort.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { planPlugins, type Sockets } from '#nodeagent/plugins/plan.js';
import type { PluginHandler, PluginType, RegisteredPlugin } from '#nodeagent/plugins/plugin-handler.js';
import { registerPlugin } from '#nodeagent/plugins/registration.js';
import { SocketWatcher } from '#nodeagent/plugins/socket-watcher.js';

export interface PluginManagerOptions {
  /** Such as `/var/lib/…/plugins_registry`. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Delays after failures, as in 1.24. */
const backoff = { initialMs: 500, maxMs: 122_000 };

interface Registered {
  readonly identity: string;
  readonly plugin: RegisteredPlugin;
  readonly handler: PluginHandler;
}

interface Failure {
  readonly failures: number;
  /** Monotonic. */
  readonly untilMs: number;
}

export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #handlers = new Map<string, PluginHandler>();
  readonly #registered = new Map<string, Registered>();
  readonly #busy = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, Failure>();
  #sockets: Sockets = new Map();
  #timer: Timer | undefined;
  readonly #stop = new AbortController();

  constructor(options: PluginManagerOptions) {
    this.#options = options;
  }

  /** Call this before `run`. */
  addHandler(type: PluginType, handler: PluginHandler): void {
    this.#handlers.set(type, handler);
  }

  /** Paths of sockets: those that exist, and those of registered plugins. */
  get counts(): { readonly desired: readonly string[]; readonly actual: readonly string[] } {
    return { desired: [...this.#sockets.keys()], actual: [...this.#registered.keys()] };
  }

  /** Resolves after `signal` aborts; plugins stay registered, since the agent may come back. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, directory } = this.#options;
    const onChange = (sockets: Sockets) => {
      this.#sockets = sockets;
      this.#reconcile();
    };
    const watcher = new SocketWatcher({ clock, log, directory, onChange });
    try {
      await watcher.start();
    } catch (error) {
      // As in 1.24: the agent runs without plugins.
      log.error({ err: error, directory }, 'failed to watch plugin sockets');
    }
    await aborted(signal);
    this.#stop.abort();
    this.#timer?.cancel();
    await watcher.close();
    await Promise.all(this.#busy.values());
  }

  #reconcile(): void {
    if (this.#stop.signal.aborted) return;
    this.#timer?.cancel();
    const now = this.#options.clock.monotonic();
    for (const path of this.#failures.keys())
      if (!this.#sockets.has(path) && !this.#registered.has(path)) this.#failures.delete(path);
    const { deregister, register, againMs } = planPlugins({
      sockets: this.#sockets,
      registered: new Map([...this.#registered].map(([path, { identity }]) => [path, identity])),
      busy: new Set(this.#busy.keys()),
      waitMs: (path) => (this.#failures.get(path)?.untilMs ?? now) - now,
    });
    for (const path of deregister) this.#begin(path, () => this.#deregister(path));
    for (const path of register) this.#begin(path, () => this.#register(path));
    if (againMs !== undefined) this.#timer = this.#options.clock.setTimer(() => this.#reconcile(), againMs);
  }

  #begin(path: string, work: () => Promise<void>): void {
    const { log } = this.#options;
    const end = () => {
      this.#busy.delete(path);
      this.#reconcile();
    };
    const task = work().then(
      () => {
        this.#failures.delete(path);
        end();
      },
      (error: unknown) => {
        this.#recordFailure(path);
        log.warn({ err: error, socket: path }, 'plugin registration failed');
        end();
      },
    );
    this.#busy.set(path, task);
  }

  #recordFailure(path: string): void {
    const failures = this.#failures.get(path)?.failures ?? 0;
    const delayMs = exponentialDelayMs(failures, backoff.initialMs, backoff.maxMs);
    this.#failures.set(path, { failures: failures + 1, untilMs: this.#options.clock.monotonic() + delayMs });
  }

  async #register(socket: string): Promise<void> {
    const { log } = this.#options;
    const identity = this.#sockets.get(socket) ?? '';
    log.debug({ socket }, 'registering a plugin');
    await registerPlugin({
      ...{ socket, handlers: this.#handlers, signal: this.#stop.signal },
      onAccepted: (plugin, handler) => this.#registered.set(socket, { identity, plugin, handler }),
    });
    log.info({ socket, plugin: this.#registered.get(socket)?.plugin.name }, 'registered a plugin');
  }

  async #deregister(socket: string): Promise<void> {
    const registered = this.#registered.get(socket);
    // Removed first: the handler has the plugin no more, even if it fails.
    this.#registered.delete(socket);
    await registered?.handler.deregister(registered.plugin.name);
    this.#options.log.info({ socket, plugin: registered?.plugin.name }, 'deregistered a plugin');
  }
}
