/** Pulls a container's image according to its pull policy. Events and errors of release 1.24. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { unlessAborted } from '#apimachinery/async/abort.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import { TokenBucket } from '#client/token-bucket.js';
import type { Image, ImageAuth, ImageService, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import { rpcMessageOf } from '#nodeagent/cri/errors.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';

export type ImageErrorReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError';

export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly reason: ImageErrorReason;
  /** Earliest useful retry (monotonic ms). */
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
  /** Only one pull at a time on this node. */
  readonly serialize: boolean;
  /** A pull beyond this rate fails, and is retried after its back-off, as in 1.24. */
  readonly rate: { readonly qps: number; readonly burst: number };
  /** Credentials for an image, the most specific first. */
  readonly credentials: (pod: Pod, image: string, signal: AbortSignal) => Promise<readonly ImageAuth[]>;
}

const initialBackOffMs = 10_000;
const maxBackOffMs = 300_000;
/** Retry delay of permanent errors. */
const slowRetryMs = 60_000;
/** Retry delay if the runtime fails to inspect the image. */
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
  /** Pod and image → earliest next pull. */
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

  /** Returns the image once it is on the node. Throws ImageError; rejects with the signal's reason when it aborts. */
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
    // The pod may be gone, so start nothing for it.
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
      const auths = await credentials(pod, name, signal);
      const work = (abort: AbortSignal) => this.#withCredentials(name, auths, { sandbox, signal: abort });
      // Pulls are shared only between pods with equal credentials.
      await this.#pulls.join(JSON.stringify([name, auths]), work, signal);
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
    auths: readonly ImageAuth[],
    options: { sandbox: PodSandboxConfig; signal: AbortSignal },
  ): Promise<void> {
    if (!this.#bucket.tryTake()) throw new Error('pull QPS exceeded');
    const failures = new Map<string, unknown>();
    for (const auth of auths.length === 0 ? [undefined] : auths) {
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

  /** Forgets the back-offs of a pod's images. `prefix`: begins with its UID. */
  forget(prefix: string): void {
    this.#backOff.forget(prefix);
    for (const key of this.#waiting.keys()) if (key.startsWith(prefix)) this.#waiting.delete(key);
  }
}

/** `busybox` → `busybox:latest`; digests and tags stay. */
export function withDefaultTag(image: string): string {
  if (image.includes('@')) return image;
  return /:[^/]+$/.test(image) ? image : `${image}:latest`;
}

const reference =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-fA-F]{32,})?$/;
const invalid = 'invalid reference format';
/** Limit of registry and repository together. */
const maxNameLength = 255;

/** The error for an invalid image name, with the texts of release 1.24's parser; undefined if valid. */
export function imageNameProblem(image: string): string | undefined {
  if (/^[a-f0-9]{64}$/.test(image))
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isRegistry = first === 'localhost' || /[.:]|[A-Z]/.test(first);
  const [repository = ''] = (isRegistry ? image.slice(slash + 1) : image).split('@');
  const path = repository.replace(/:[^/]*$/, '');
  if (path !== path.toLowerCase()) return `${invalid}: repository name must be lowercase`;
  if (!reference.test(image)) return invalid;
  const name = isRegistry ? `${first}/${path}` : `docker.io/${slash < 0 ? 'library/' : ''}${path}`;
  return name.length > maxNameLength ? `repository name must not be more than ${maxNameLength} characters` : undefined;
}

/** The default pull policy: `latest` is always pulled. */
export function pullPolicy(container: { image?: string; imagePullPolicy?: string }): string {
  if (container.imagePullPolicy !== undefined && container.imagePullPolicy !== '') return container.imagePullPolicy;
  return withDefaultTag(container.image ?? '').endsWith(':latest') ? 'Always' : 'IfNotPresent';
}

/**
 * How long a pull may delay the next one. The runtime reports no progress, so a slow pull may hang at a dead registry,
 * and must not block the node's other pods.
 */
const turnMs = 120_000;

interface Pull {
  readonly done: Promise<void>;
  readonly abort: AbortController;
  waiters: number;
}

/** Running pulls: shared by pods with the same image, optionally one at a time, aborted when no pod waits. */
class Pulls {
  readonly #clock: Clock;
  readonly #serialize: boolean;
  readonly #running = new Map<string, Pull>();
  /** Resolves when the next pull may begin. */
  #turn: Promise<void> = Promise.resolve();

  constructor({ clock, serialize }: { readonly clock: Clock; readonly serialize: boolean }) {
    this.#clock = clock;
    this.#serialize = serialize;
  }

  /**
   * Resolves when the key's pull is done: the running one, or `work`. Rejects with its failure, or with the signal's
   * reason when it aborts; the pull itself is aborted when no caller waits.
   */
  async join(key: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const pull = this.#running.get(key) ?? this.#begin(key, work);
    pull.waiters++;
    try {
      await unlessAborted(pull.done, signal);
    } finally {
      pull.waiters--;
      if (pull.waiters === 0) {
        this.#forget(key, pull);
        pull.abort.abort();
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<void>): Pull {
    const abort = new AbortController();
    const pull = { done: this.#inTurn(work, abort.signal), abort, waiters: 0 };
    this.#running.set(key, pull);
    const forget = () => this.#forget(key, pull);
    pull.done.then(forget, forget);
    return pull;
  }

  #forget(key: string, pull: Pull): void {
    if (this.#running.get(key) === pull) this.#running.delete(key);
  }

  async #inTurn(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.#serialize) return unlessAborted(work(signal), signal);
    const before = this.#turn;
    const over = deferred();
    this.#turn = before.then(() => over.promise);
    try {
      await unlessAborted(before, signal);
      const timer = this.#clock.setTimer(over.resolve, turnMs);
      try {
        await unlessAborted(work(signal), signal);
      } finally {
        timer.cancel();
      }
    } finally {
      over.resolve();
    }
  }
}
