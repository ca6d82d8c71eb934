/** A device plugin that comes and goes under the agent's restarts, as real ones do. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { TestDevicePlugin } from '#nodeagent/devices/testing/device-plugin.js';

export const device = 'example.com/device';
/** Variable of containers with the names of their devices. */
export const devicesVariable = 'CHAOS_DEVICES';
const ids = ['d0', 'd1', 'd2'];
const lookMs = 300;
/** Longest absence, ms. */
const maxAbsenceMs = 4000;

export class ComingDevices {
  readonly #directory: string;
  readonly #random: () => number;
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;
  #plugin: TestDevicePlugin | undefined;
  /** Of the agent's socket that it registered at. */
  #registeredAt: number | undefined;
  #absentUntilMs = 0;
  registrations = 0;

  /** `directory`: the agent's, of device plugins. */
  constructor(directory: string, random: () => number) {
    this.#directory = directory;
    this.#random = random;
    this.#work = this.#run();
  }

  /** The plugin ends for a while, or a device of it fails or recovers. */
  strike(): string {
    const absenceMs = Math.ceil(this.#random() * maxAbsenceMs);
    if (this.#random() < 0.6) {
      this.#absentUntilMs = realClock.monotonic() + absenceMs;
      return `device plugin ends for ${absenceMs} ms`;
    }
    const sick = this.#random() < 0.5 ? ids[Math.floor(this.#random() * ids.length)] : undefined;
    this.#plugin?.report(ids.map((id) => ({ id, isHealthy: id !== sick })));
    return `device ${sick ?? 'none'} is unhealthy`;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    await this.#plugin?.stop();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (realClock.monotonic() < this.#absentUntilMs) await this.#leave();
      else await this.#stay().catch(() => this.#leave());
      await realClock.sleep(lookMs, this.#stop.signal).catch(() => undefined);
    }
  }

  async #leave(): Promise<void> {
    const plugin = this.#plugin;
    this.#plugin = undefined;
    this.#registeredAt = undefined;
    await plugin?.stop();
  }

  /** A new agent has a new socket, and has removed the plugin's. Rejects while there is no agent. */
  async #stay(): Promise<void> {
    const { ino } = statSync(join(this.#directory, 'kubelet.sock'));
    if (ino === this.#registeredAt) return;
    await this.#leave();
    const plugin = new TestDevicePlugin({
      socket: join(this.#directory, 'chaos.sock'),
      resource: device,
      preStart: true,
      devices: ids.map((id) => ({ id })),
      allocate: (given) => ({ envs: { [devicesVariable]: given.join() } }),
    });
    await plugin.start();
    this.#plugin = plugin;
    await plugin.register();
    this.#registeredAt = ino;
    this.registrations += 1;
  }
}
