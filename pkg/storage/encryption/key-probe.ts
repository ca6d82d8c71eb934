/** The health of a key management service: it encrypts and decrypts a text. */
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { KeyService } from '#storage/encryption/key-service.js';

/** How long a result holds: 1.24's kmsPluginHealthzPositiveTTL and kmsPluginHealthzNegativeTTL. */
const healthyMs = 20_000;
const unhealthyMs = 3_000;

const ping = Buffer.from('ping');

interface Result {
  readonly untilMs: number;
  readonly error: Error | undefined;
}

export interface KeyProbeOptions {
  /** The provider's name in the configuration. */
  readonly name: string;
  readonly service: Pick<KeyService, 'encrypt' | 'decrypt'>;
  readonly clock: Clock;
}

export class KeyProbe {
  readonly #options: KeyProbeOptions;
  #last: Result | undefined;
  #running: Promise<Error | undefined> | undefined;

  constructor(options: KeyProbeOptions) {
    this.#options = options;
  }

  /** Rejects with the reason if the service does not work; uses the last result while it holds. */
  async check(): Promise<void> {
    const last = this.#last;
    const holds = last !== undefined && this.#options.clock.monotonic() < last.untilMs;
    const error = holds ? last.error : await this.#probe();
    if (error !== undefined) throw error;
  }

  /** Whether the service works now. */
  async works(): Promise<boolean> {
    return (await this.#probe()) === undefined;
  }

  /** Callers at the same time share one probe. */
  #probe(): Promise<Error | undefined> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<Error | undefined> {
    const { clock, name, service } = this.#options;
    let section = 'encrypt';
    let error: Error | undefined;
    try {
      const cipher = await service.encrypt(ping);
      section = 'decrypt';
      await service.decrypt(cipher);
    } catch (cause) {
      const text = `failed to perform ${section} section of the healthz check for KMS Provider ${name}`;
      error = new Error(`${text}, error: ${messageOf(cause)}`, { cause });
    }
    this.#last = { untilMs: clock.monotonic() + (error === undefined ? healthyMs : unhealthyMs), error };
    return error;
  }
}
