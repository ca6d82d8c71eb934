/** What was read from a file that somebody may replace while it is in use. */
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import { type FSWatcher, watch } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

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

/** Certificates and authorities that are replaced on disk while the server runs. */

export interface FollowFilesOptions {
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after the files have come to rest; a failure is logged, and the old content stays in use until it succeeds. */
  readonly changed: () => Promise<void>;
}

/** Certificate and key are two files: both are there when nothing has changed for this long. */
const settleMs = 500;
/** A watch may have been lost, or never been given: as often as the daemons of 1.24 do, files are looked at without one. */
const lookMs = 60_000;
const retryMs = 5_000;

/**
 * Calls `changed` when one of the files was written or replaced, until the signal aborts. Directories are watched, for
 * a file that is replaced by renaming is another file.
 */
export function followFiles({ files, clock, log, changed }: FollowFilesOptions, signal: AbortSignal): Promise<void> {
  let pending: Timer | undefined;
  let looking: Timer | undefined;
  let stamp: string | undefined;
  const reload = async () => {
    const before = await stampOf(files);
    try {
      await changed();
      stamp = before;
      log.info({ files }, 'Loaded the certificates again');
    } catch (err) {
      log.error({ err, files }, 'Could not load the certificates again; the old ones stay for now');
      reloadIn(retryMs);
    }
  };
  const reloadIn = (ms: number) => {
    pending?.cancel();
    if (!signal.aborted) pending = clock.setTimer(() => void reload(), ms);
  };
  const look = async () => {
    // What was replaced before they were followed is not known either.
    if ((await stampOf(files)) !== stamp) await reload();
    if (!signal.aborted) looking = clock.setTimer(() => void look(), lookMs);
  };
  const names = new Set(files.map((file) => basename(file)));
  const watchers = [...new Set(files.map((file) => dirname(file)))].map((directory) => {
    const watcher = watchOrWarn(directory, log, (name) => {
      // Projected volumes swap a link beside the files; its name starts with two dots.
      if (name !== null && !names.has(name) && !name.startsWith('..')) return;
      reloadIn(settleMs);
    });
    return watcher;
  });
  looking = clock.setTimer(() => void look(), lookMs);
  return new Promise((resolve) => {
    const stop = () => {
      pending?.cancel();
      looking?.cancel();
      for (const watcher of watchers) watcher?.close();
      resolve();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** Undefined where the system has no watch left to give: the server does without. */
function watchOrWarn(directory: string, log: Logger, changed: (name: string | null) => void): FSWatcher | undefined {
  const failed = (err: unknown) => log.warn({ err, directory }, 'Certificates are not watched any more');
  try {
    const watcher = watch(directory, { persistent: false }, (_event, name) => changed(name));
    watcher.on('error', failed);
    return watcher;
  } catch (err) {
    failed(err);
    return undefined;
  }
}

/** Whether files may have been replaced, without reading them. */

/** Another text when one of the files was written, replaced or removed. Never rejects. */
export async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = await Promise.all(files.map(stampOfOne));
  return stamps.join(' ');
}

async function stampOfOne(file: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(file);
    return `${ino}:${mtimeMs}:${size}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
