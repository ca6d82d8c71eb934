/** The images of a simulated node: every pull succeeds unless the pod's annotations fail it. */
import { createHash } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { FilesystemUsage, Image, ImageService, PullOptions } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { Behaviour } from '#nodeagent/simulated/behaviour.js';

const imageBytes = 5_000_000;

export class SimulatedImages implements ImageService {
  readonly #clock: Clock;
  readonly #labelDomain: string;
  readonly #images = new Map<string, Image>();

  constructor(options: { clock: Clock; labelDomain: string; images: readonly string[] }) {
    this.#clock = options.clock;
    this.#labelDomain = options.labelDomain;
    for (const name of options.images) this.#add(name);
  }

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
    const behaviour = new Behaviour(sandbox?.annotations ?? {}, this.#labelDomain);
    const latency = behaviour.duration('pull-latency') ?? 0;
    if (latency > 0) await this.#clock.sleep(latency, signal);
    if (signal?.aborted === true) throw new CRIError('Cancelled', 'the pull was cancelled');
    const failure = behaviour.text('pull-failure');
    if (failure !== undefined) throw new CRIError('Unknown', failure);
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
