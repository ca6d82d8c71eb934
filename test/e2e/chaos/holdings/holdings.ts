/**
 * What an agent gives to containers and may give only once: devices of a plugin, CPUs, and volumes of a CSI driver. Plugin and
 * driver come, go and fail while the chaos goes on.
 */
import { join } from 'node:path';
import type { Client } from '#client/client.js';
import { layoutOf } from '#cluster/config/layout.js';
import { falseCheckpoints } from '#test/e2e/chaos/holdings/checkpoints.js';
import { ComingDevices } from '#test/e2e/chaos/holdings/devices.js';
import { holders, WatchedHolders } from '#test/e2e/chaos/holdings/holders.js';
import { FailingVolumes } from '#test/e2e/chaos/holdings/volumes.js';
import { nodeNames } from '#test/e2e/observe.js';

/** Of the node agent: the first processor is for everything that has none of its own. */
export const holdingArguments = ['cpu-manager-policy=static', 'reserved-cpus=0', 'cpu-manager-reconcile-period=5s'].map(
  (option) => `--nodeagent-arg=${option}`,
);

export interface HoldingsOptions {
  readonly dataDir: string;
  readonly client: Client;
  readonly random: () => number;
}

export class Holdings {
  readonly #root: string;
  readonly #random: () => number;
  readonly #devices: ComingDevices;
  readonly #volumes: FailingVolumes;
  readonly #watched = new WatchedHolders();

  private constructor(root: string, random: () => number, volumes: FailingVolumes) {
    this.#root = root;
    this.#random = random;
    this.#devices = new ComingDevices(join(root, 'device-plugins'), random);
    this.#volumes = volumes;
  }

  static async start({ dataDir, client, random }: HoldingsOptions): Promise<Holdings> {
    const root = layoutOf(dataDir).node(nodeNames(dataDir)[0] ?? '');
    const volumes = await FailingVolumes.start({ client, root, random, data: join(dataDir, 'volumes') });
    return new Holdings(root, random, volumes);
  }

  /** Number of pods that have held something, of the plugin's registrations, and of the driver's mounts. */
  get counts(): { readonly holders: number; readonly registrations: number; readonly mounts: number } {
    const mounts = this.#volumes.driver.log('NodePublishVolume').length;
    return { holders: this.#watched.uids.size, registrations: this.#devices.registrations, mounts };
  }

  /** What two pods have held at the same time. */
  get conflicts(): readonly string[] {
    return [...this.#watched.conflicts].map((conflict) => `given twice: ${conflict}`);
  }

  /** Ends the plugin or the driver for a while; returns what it did. */
  strike(): Promise<string> {
    return this.#random() < 0.5 ? Promise.resolve(this.#devices.strike()) : this.#volumes.strike(this.#random);
  }

  /** From now on nothing fails. */
  settle(): void {
    this.#volumes.settle();
  }

  async falseCheckpoints(): Promise<string[]> {
    return falseCheckpoints(this.#root, await holders());
  }

  /** What remains of volumes. */
  left(): string[] {
    return this.#volumes.left();
  }

  async stop(): Promise<void> {
    await this.#watched.stop();
    await this.#devices.stop();
    await this.#volumes.stop();
  }
}
