/** Removes unused images when the disk of the images gets full, as release 1.24 does. */
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { bytesToFree, type ImagePolicy, type ImageRecord, removableImages } from '#nodeagent/collection/image-plan.js';
import type { CRI, Image } from '#nodeagent/cri/cri.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';

export interface ImageCollectorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<
    CRI,
    'listImages' | 'listContainers' | 'imageStatus' | 'removeImage' | 'imageFsInfo' | 'sandboxImage'
  >;
  readonly machine: Pick<Machine, 'filesystem'>;
  readonly policy: ImagePolicy;
  /** The image of sandboxes; empty: as the runtime is configured. */
  readonly sandboxImage: string;
  readonly events: Pick<NodeEvents, 'record'>;
}

/** As in 1.24. */
export const imagePeriodMs = 300_000;

export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  #records: ReadonlyMap<string, ImageRecord> = new Map();
  #hasLooked = false;
  #hasFailed = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, policy } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#inTurn(() => this.#look(this.#hasLooked ? clock.now() : 0));
        this.#hasLooked = true;
      } catch (error) {
        log.info({ err: error }, 'failed to monitor images');
      }
      if (signal.aborted) return;
      if (policy.highPercent < 100) await this.#collectAndReport();
      await upkeepClock(clock).sleep(imagePeriodMs, signal);
    }
  }

  async #collectAndReport(): Promise<void> {
    const { log, events } = this.#options;
    try {
      await this.collect();
      if (this.#hasFailed) log.info('image garbage collection succeeded');
      this.#hasFailed = false;
    } catch (error) {
      // The first failure may only mean that nothing was measured yet.
      log.error(
        { err: error },
        `image garbage collection failed${this.#hasFailed ? ' multiple times in a row' : ' once'}`,
      );
      if (this.#hasFailed) events.record({ type: 'Warning', reason: 'ImageGCFailed', message: messageOf(error) });
      this.#hasFailed = true;
    }
  }

  /** Frees space down to the low threshold if the disk is at the high one. Rejects if it does not succeed. */
  async collect(): Promise<void> {
    const { cri, machine, policy, events, log } = this.#options;
    const [disk] = await cri.imageFsInfo();
    if (disk === undefined) throw new Error('imageFs information is unavailable');
    const filesystem = disk.mountpoint === '' ? undefined : await machine.filesystem(disk.mountpoint);
    const missing = filesystem === undefined ? undefined : bytesToFree(policy, filesystem);
    if (missing === undefined) {
      const message = 'invalid capacity 0 on image filesystem';
      events.record({ type: 'Warning', reason: 'InvalidDiskCapacity', message });
      throw new Error(message);
    }
    if (filesystem === undefined || missing <= 0) return;
    const { highPercent: high, lowPercent: low } = policy;
    log.info({ bytes: missing, high, low }, 'disk usage on image filesystem is over the high threshold');
    const freed = await this.#inTurn(() => this.#free(missing));
    if (freed >= missing) return;
    const message = `failed to garbage collect required amount of images. Wanted to free ${missing} bytes, but freed ${freed} bytes`;
    events.record({ type: 'Warning', reason: 'FreeDiskSpaceFailed', message });
    throw new Error(message);
  }

  /** Removes all unused images that are old enough. Rejects after it has tried all. */
  async removeUnused(): Promise<void> {
    this.#options.log.info('attempting to delete unused images');
    await this.#inTurn(() => this.#free(Number.POSITIVE_INFINITY));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#running.then(work);
    this.#running = next.catch(() => undefined);
    return next;
  }

  /** Returns the freed bytes, by the sizes of the removed images. */
  async #free(bytes: number): Promise<number> {
    const { clock, cri, log, policy } = this.#options;
    const nowMs = clock.now();
    await this.#look(nowMs);
    let freed = 0;
    const failures: unknown[] = [];
    for (const { id, sizeBytes } of removableImages([...this.#records.values()], policy.minAgeMs, nowMs)) {
      log.info({ imageID: id, size: sizeBytes }, 'removing image to free bytes');
      try {
        await cri.removeImage(id);
      } catch (error) {
        failures.push(error);
        continue;
      }
      this.#records = new Map([...this.#records].filter(([each]) => each !== id));
      freed += sizeBytes;
      if (freed >= bytes) break;
    }
    if (failures.length === 0) return freed;
    const amount = Number.isFinite(bytes) ? bytes : everything;
    const errors = [...new Set(failures.map(messageOf))];
    const text = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
    throw new Error(
      `wanted to free ${amount} bytes, but freed ${freed} bytes space with errors in image deletion: ${text}`,
    );
  }

  /** Looks which images there are, and which of them are in use. `seenMs`: the first sight of new ones. */
  async #look(seenMs: number): Promise<void> {
    const { clock, cri } = this.#options;
    const sandbox = await this.#sandboxImage();
    const [images, containers] = await Promise.all([cri.listImages(), cri.listContainers()]);
    // Runtimes name the image of a container by its ID, digest or tag.
    const used = new Set(containers.flatMap(({ image, imageRef }) => [image, imageRef]));
    const nowMs = clock.now();
    this.#records = new Map(
      images.map((image) => {
        const { id, sizeBytes, pinned: isPinned } = image;
        const before = this.#records.get(id);
        const isUsed = id === sandbox || namesOf(image).some((name) => used.has(name));
        const lastUsedMs = isUsed ? nowMs : (before?.lastUsedMs ?? 0);
        return [id, { id, firstSeenMs: before?.firstSeenMs ?? seenMs, lastUsedMs, sizeBytes, isPinned, isUsed }];
      }),
    );
  }

  /** ID of the image of sandboxes, which is in use even without any sandbox; undefined if there is none. */
  async #sandboxImage(): Promise<string | undefined> {
    const { cri, sandboxImage, log } = this.#options;
    try {
      const name = sandboxImage === '' ? await cri.sandboxImage() : sandboxImage;
      return name === undefined ? undefined : (await cri.imageStatus(name))?.id;
    } catch (error) {
      log.debug({ err: error }, 'reading the image of sandboxes failed');
      return undefined;
    }
  }
}

/** The figure by which 1.24 means everything. */
const everything = '9223372036854775807';

function namesOf({ id, repoTags, repoDigests }: Image): string[] {
  return [id, ...repoTags, ...repoDigests];
}
