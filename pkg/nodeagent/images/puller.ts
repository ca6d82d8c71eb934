/** Brings a container's image to the node, as its pull policy says. Events and errors are those of release 1.24. */

import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import { TokenBucket } from '#client/token-bucket.js';
import type { Image, ImageAuth, ImageService, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import { rpcMessageOf } from '#nodeagent/cri/errors.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { imageNameProblem, pullPolicy, withDefaultTag } from '#nodeagent/images/image-name.js';
import { Pulls } from '#nodeagent/images/pulls.js';

export type ImageErrorReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError';

export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly reason: ImageErrorReason;
  /** Instant of the clock that is never set (ms) before which trying again is useless. */
  readonly retryAt: number;

  constructor(reason: ImageErrorReason, message: string, retryAt: number, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

export interface ImagePullerOptions {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly events: PodEvents;
  /** One pull at a time on this node. */
  readonly serialize: boolean;
  /** A pull beyond this rate fails, and is tried again after its back-off, as in 1.24. */
  readonly rate: { readonly qps: number; readonly burst: number };
  /** Credentials for an image, the most specific first. */
  readonly credentials: (pod: Pod, image: string, signal: AbortSignal) => Promise<readonly ImageAuth[]>;
}

const initialBackOffMs = 10_000;
const maxBackOffMs = 300_000;
/** Of errors that no waiting heals; the pod is looked at again all the same. */
const slowRetryMs = 60_000;
/** Of a runtime that does not say what it has: it may answer again soon. */
const inspectRetryMs = 10_000;

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandbox: PodSandboxConfig;
  readonly signal: AbortSignal;
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #backOff: KeyedBackoff;
  readonly #pulls: Pulls;
  /** Pod and image → instant before which it is not pulled again. */
  readonly #waiting = new Map<string, number>();
  readonly #bucket: TokenBucket;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    this.#pulls = new Pulls(options);
    this.#bucket = new TokenBucket({ ...options.rate, clock: options.clock });
    this.#backOff = new KeyedBackoff({
      initialMs: initialBackOffMs,
      maxMs: maxBackOffMs,
      now: () => options.clock.monotonic(),
    });
  }

  /** The image, present on the node. Throws ImageError; rejects with the signal's reason when that aborts. */
  async ensure({ pod, container, sandbox, signal }: ImageRequest): Promise<Image> {
    const { events, clock } = this.#options;
    const slow = clock.monotonic() + slowRetryMs;
    const image = container.image ?? '';
    const problem = imageNameProblem(image);
    if (problem !== undefined) {
      const message = `Failed to apply default image tag "${image}": couldn't parse image reference "${image}": ${problem}`;
      events.container(pod, container, 'Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message, slow);
    }
    const name = withDefaultTag(image);
    const policy = pullPolicy(container);
    const present = await this.#inspect({ pod, container }, name);
    if (present !== undefined && policy !== 'Always') {
      events.container(pod, container, 'Normal', 'Pulled', `Container image "${image}" already present on machine`);
      return present;
    }
    if (policy === 'Never') {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      events.container(pod, container, 'Warning', 'ErrImageNeverPull', message);
      throw new ImageError('ErrImageNeverPull', message, slow);
    }
    await this.#pull({ pod, container, sandbox, signal }, image, name);
    const pulled = await this.#inspect({ pod, container }, name);
    if (pulled === undefined) throw new ImageError('ImageInspectError', `image "${image}" vanished`, slow);
    return pulled;
  }

  async #inspect(
    { pod, container }: Pick<ImageRequest, 'pod' | 'container'>,
    name: string,
  ): Promise<Image | undefined> {
    const { images, events, clock } = this.#options;
    try {
      return await images.imageStatus(name);
    } catch (error) {
      const message = `Failed to inspect image "${container.image}": ${rpcMessageOf(error)}`;
      events.container(pod, container, 'Warning', 'InspectFailed', message);
      throw new ImageError('ImageInspectError', message, clock.monotonic() + inspectRetryMs, { cause: error });
    }
  }

  async #pull({ pod, container, sandbox, signal }: ImageRequest, image: string, name: string): Promise<void> {
    const { events, clock, credentials } = this.#options;
    // Nobody waits for it any more: nothing is to be begun for a pod that may be gone.
    signal.throwIfAborted();
    const key = `${pod.metadata.uid}_${image}`;
    const waiting = this.#waiting.get(key) ?? 0;
    if (waiting > clock.monotonic()) {
      const message = `Back-off pulling image "${image}"`;
      events.container(pod, container, 'Normal', 'BackOff', message);
      throw new ImageError('ImagePullBackOff', message, waiting);
    }
    events.container(pod, container, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const started = clock.monotonic();
    try {
      const known = await credentials(pod, name, signal);
      const work = (abort: AbortSignal) => this.#withCredentials(name, known, { sandbox, signal: abort });
      // What one may pull with its credentials, another may not have.
      await this.#pulls.join(JSON.stringify([name, known]), work, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = rpcMessageOf(error);
      events.container(pod, container, 'Warning', 'Failed', `Failed to pull image "${image}": ${reason}`);
      const failedAt = clock.monotonic();
      this.#backOff.next(key, failedAt);
      const retryAt = failedAt + this.#backOff.delay(key);
      this.#waiting.set(key, retryAt);
      throw new ImageError('ErrImagePull', reason, retryAt, { cause: error });
    }
    const elapsed = formatDuration(Math.round(clock.monotonic() - started));
    events.container(pod, container, 'Normal', 'Pulled', `Successfully pulled image "${image}" in ${elapsed}`);
    this.forget(key);
  }

  async #withCredentials(
    name: string,
    known: readonly ImageAuth[],
    options: { sandbox: PodSandboxConfig; signal: AbortSignal },
  ): Promise<void> {
    if (!this.#bucket.tryTake()) throw new Error('pull QPS exceeded');
    const failures = new Map<string, unknown>();
    for (const auth of known.length === 0 ? [undefined] : known) {
      try {
        await this.#options.images.pullImage(name, auth === undefined ? options : { ...options, auth });
        return;
      } catch (error) {
        if (options.signal.aborted) throw error;
        failures.set(rpcMessageOf(error), error);
      }
    }
    const [failure] = failures.values();
    if (failures.size === 1) throw failure;
    throw new Error(`[${[...failures.keys()].join(', ')}]`, { cause: failure });
  }

  /** Forgets the back-offs of a pod's images. @param prefix Its UID. */
  forget(prefix: string): void {
    this.#backOff.forget(prefix);
    for (const key of this.#waiting.keys()) if (key.startsWith(prefix)) this.#waiting.delete(key);
  }
}
