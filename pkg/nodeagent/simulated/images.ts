/** The images of a simulated node: every pull succeeds unless the pod's behaviour fails it. */
import { createHash } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { FilesystemUsage, Image, ImageService, PodSandboxConfig, PullOptions } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import type { Behaviour } from '#nodeagent/simulated/behaviour.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';

const imageBytes = 5_000_000;

interface SimulatedImagesOptions {
  readonly clock: Clock;
  readonly simulation: Simulation;
  readonly images: readonly string[];
}

export abstract class SimulatedImages implements ImageService {
  readonly #clock: Clock;
  readonly #simulation: Simulation;
  readonly #images = new Map<string, Image>();

  constructor(options: SimulatedImagesOptions) {
    this.#clock = options.clock;
    this.#simulation = options.simulation;
    for (const name of options.images) this.#add(name);
  }

  /** The behaviour of the sandbox's pod at this moment. */
  protected abstract behaviourOf(sandbox: PodSandboxConfig): Behaviour;

  #add(name: string): Image {
    const digest = `sha256:${createHash('sha256').update(name).digest('hex')}`;
    const repository = name.replace(/(@.*|:[^:/]*)$/, '');
    const image: Image = {
      id: digest,
      repoTags: [name],
      repoDigests: [`${repository}@${digest}`],
      sizeBytes: imageBytes,
      username: '',
      pinned: false,
    };
    this.#images.set(name, image);
    return image;
  }

  #find(reference: string): Image | undefined {
    return this.#images.get(reference) ?? [...this.#images.values()].find((image) => image.id === reference);
  }

  listImages(): Promise<Image[]> {
    return Promise.resolve([...this.#images.values()]);
  }

  imageStatus(reference: string): Promise<Image | undefined> {
    return Promise.resolve(this.#find(reference));
  }

  async pullImage(name: string, { sandbox, signal }: PullOptions = {}): Promise<string> {
    const behaviour = sandbox && this.behaviourOf(sandbox);
    // Absent if only the runtime's interface tells of the pod: then its settings hold for all containers.
    const [first, ...others] = behaviour?.containersWith(name) ?? [];
    const containers = [first, ...others];
    const latency = Math.max(...containers.map((each) => behaviour?.get('pull-latency', each) ?? 0));
    if (latency > 0) await this.#clock.sleep(latency, signal);
    if (signal?.aborted === true) throw new CRIError('Cancelled', 'the pull was cancelled');
    const failing = containers.find((each) => behaviour?.get('pull-failure', each) !== undefined);
    const failure = behaviour?.get('pull-failure', failing);
    const times = behaviour?.get('pull-failure-times', failing) ?? Infinity;
    if (failure !== undefined && this.#simulation.count(`pull ${sandbox?.metadata.uid} ${name}`) < times)
      throw new CRIError('Unknown', failure);
    return this.#find(name)?.id ?? this.#add(name).id;
  }

  removeImage(reference: string): Promise<void> {
    for (const [name, image] of this.#images) {
      if (name === reference || image.id === reference) this.#images.delete(name);
    }
    return Promise.resolve();
  }

  /** Simulated sandboxes have none. */
  sandboxImage(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  imageFsInfo(): Promise<FilesystemUsage[]> {
    const usedBytes = this.#images.size * imageBytes;
    return Promise.resolve([
      { timestamp: this.#clock.now(), mountpoint: '/simulated', usedBytes, inodesUsed: this.#images.size * 100 },
    ]);
  }
}
