/** A CSI driver that restarts and fails, with a volume for each pod and one for all. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { Volume } from '#api/core/v1/types.gen.js';
import { csidrivers } from '#api/storage/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { RegisteringPlugin } from '#nodeagent/plugins/testing/registering-plugin.js';
import { type Fault, TestDriver } from '#nodeagent/testing/csi-driver.js';
import { namespace } from '#test/e2e/pods.js';

const driverName = 'test.driver';
const claimName = 'chaos';
const maxAbsenceMs = 4000;
const lookMs = 500;

/** Part of the calls that fail while the chaos goes on. */
const failing = 0.1;

export const ownVolume: Volume = { name: 'own', csi: { driver: driverName } };
export const sharedVolume: Volume = { name: 'shared', persistentVolumeClaim: { claimName } };

export interface FailingVolumesOptions {
  readonly client: Client;
  /** The agent's root. */
  readonly root: string;
  /** For the volumes' data. */
  readonly data: string;
  readonly random: () => number;
}

export class FailingVolumes {
  readonly driver: TestDriver;
  readonly #registration: RegisteringPlugin;
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;

  private constructor(driver: TestDriver, registration: RegisteringPlugin) {
    this.driver = driver;
    this.#registration = registration;
    this.#work = this.#register();
  }

  /** As the public registrar does: where the agent refuses the driver, it ends, and its next start is a new attempt. */
  async #register(): Promise<void> {
    for (let seen = 0; !this.#stop.signal.aborted; ) {
      const { statuses } = this.#registration;
      if (statuses.length > seen && statuses.at(-1) !== 'registered') {
        await this.#registration.stop();
        await this.#registration.start();
      }
      seen = statuses.length;
      await realClock.sleep(lookMs, this.#stop.signal).catch(() => undefined);
    }
  }

  static async start({ client, root, data, random }: FailingVolumesOptions): Promise<FailingVolumes> {
    const socket = join(root, 'plugins', driverName, 'csi.sock');
    await mkdir(join(root, 'plugins', driverName), { recursive: true });
    await mkdir(join(root, 'plugins_registry'), { recursive: true });
    await mkdir(data, { recursive: true });
    const fault = (): Fault =>
      random() < failing ? { code: random() < 0.5 ? 'UNAVAILABLE' : 'INTERNAL', after: random() < 0.5 } : undefined;
    const driver = new TestDriver({ dir: data, socket, fault });
    await driver.start();
    const registration = new RegisteringPlugin(join(root, 'plugins_registry', `${driverName}-reg.sock`), () => ({
      ...{ type: 'CSIPlugin', name: driverName, endpoint: socket, supportedVersions: ['1.0.0'] },
    }));
    await registration.start();
    await client.resource(csidrivers).create({
      metadata: { name: driverName },
      spec: { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    });
    await client.resource(persistentvolumes).create({
      metadata: { name: claimName },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, storageClassName: '' },
        claimRef: { namespace, name: claimName },
        csi: { driver: driverName, volumeHandle: claimName },
      },
    });
    await client.resource(persistentvolumeclaims).create({
      metadata: { name: claimName, namespace },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: claimName },
        resources: { requests: { storage: '1Gi' } },
      },
    });
    return new FailingVolumes(driver, registration);
  }

  /** The driver's process ends for a while; its mounts stay. */
  async strike(random: () => number): Promise<string> {
    const absenceMs = Math.ceil(random() * maxAbsenceMs);
    await this.driver.stop();
    await realClock.sleep(absenceMs);
    await this.driver.start();
    return `CSI driver was away for ${absenceMs} ms`;
  }

  /** From now on no call fails. */
  settle(): void {
    this.driver.fault = undefined;
  }

  /** What is still staged or published. */
  left(): string[] {
    const { staged, published } = this.driver;
    return [...[...staged].map((each) => `staged: ${each}`), ...[...published].map((each) => `published: ${each}`)];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    await this.#registration.stop();
    await this.driver.clean();
    await this.driver.stop();
  }
}
