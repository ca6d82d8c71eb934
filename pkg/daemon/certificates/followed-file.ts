/** What was read from a file that somebody may replace while it is in use. */
import { readFile } from 'node:fs/promises';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { followFiles } from '#daemon/certificates/follow-files.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';

/** A value that may be another one later. */
export interface Followed<T> {
  readonly current: T;
  /** Calls `changed` after each change until the signal aborts. */
  onChange(changed: () => void, signal: AbortSignal): void;
}

/** A value that stays. */
export function constant<T>(current: T): Followed<T> {
  return { current, onChange() {} };
}

export class FollowedFile<T> implements Followed<T> {
  readonly file: string;
  readonly #option: string;
  readonly #parse: (text: string) => T;
  readonly #listeners = new Set<() => void>();
  #text: string;
  #current: T;

  private constructor(option: string, file: string, text: string, parse: (text: string) => T) {
    this.file = file;
    this.#option = option;
    this.#parse = parse;
    this.#text = text;
    this.#current = this.#parsed(text);
  }

  /**
   * Undefined where no file is named. Throws OptionsError, which names the option, for a file that cannot be read, or whose
   * text `parse` throws for.
   */
  static async read<T>(
    option: string,
    file: string | undefined,
    parse: (text: string) => T,
  ): Promise<FollowedFile<T> | undefined> {
    return file === undefined || file === ''
      ? undefined
      : new FollowedFile(option, file, await textOf(option, file), parse);
  }

  get current(): T {
    return this.#current;
  }

  onChange(changed: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.add(changed);
    signal.addEventListener('abort', () => this.#listeners.delete(changed), { once: true });
  }

  /** Reads the file again. Throws as `read` does; what it held before stays in use then. */
  async reload(): Promise<void> {
    const text = await textOf(this.#option, this.file);
    if (text === this.#text) return;
    this.#current = this.#parsed(text);
    this.#text = text;
    for (const changed of [...this.#listeners]) changed();
  }

  #parsed(text: string): T {
    try {
      return this.#parse(text);
    } catch (error) {
      throw new OptionsError([`--${this.#option}: ${this.file}: ${messageOf(error)}`]);
    }
  }
}

/** A text with certificates in PEM, as it is. Throws Error where there is none. */
export function certificateBundle(text: string): string {
  if (certificatesInPem(text).length === 0) throw new Error('it holds no certificate in PEM form');
  return text;
}

/** Text of a file that an option names. Throws OptionsError. */
export async function textOf(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}

/** Reads the files again when they are replaced, beside other daemons of the process. */
export class FileFollower implements Daemon {
  readonly name = 'file-follower';
  readonly #files: readonly FollowedFile<unknown>[];
  readonly #dependencies: { readonly clock: Clock; readonly log: Logger };
  readonly #stop = new AbortController();

  /** Those that are undefined are of options that were not given. */
  constructor(
    files: readonly (FollowedFile<unknown> | undefined)[],
    dependencies: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.#files = files.filter((file) => file !== undefined);
    this.#dependencies = dependencies;
  }

  async ready(): Promise<void> {}

  async start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    // Each by itself: what is wrong with one of them keeps nobody from the others.
    await Promise.all(
      this.#files.map((file) =>
        followFiles({ files: [file.file], ...this.#dependencies, changed: () => file.reload() }, stop),
      ),
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
  }
}
