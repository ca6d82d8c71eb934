/** Values read from files that may be replaced while they are in use. */

import { type FSWatcher, watch } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';

/** A value that may change. */
export interface Followed<T> {
  readonly current: T;
  /** Calls `changed` after each change until the signal aborts. */
  onChange(changed: () => void, signal: AbortSignal): void;
}

/** A value that never changes. */
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

  /** Undefined without a path. Throws OptionsError, naming the option, if the file cannot be read or `parse` throws. */
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

  /** Reads the file again. Throws like `read`; the old value stays in use then. */
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

/** Returns PEM text unchanged. Throws Error if it has no certificate. */
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

/** A daemon that reloads the files when they are replaced. */
export class FileFollower implements Daemon {
  readonly name = 'file-follower';
  readonly #files: readonly FollowedFile<unknown>[];
  readonly #dependencies: { readonly clock: Clock; readonly log: Logger };
  readonly #stop = new AbortController();

  /** Undefined entries belong to options that were not set. */
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
    // Reload each file separately: a bad one must not stop the others.
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

export interface FollowFilesOptions {
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Called once the files are stable. A failure is logged and retried; the old content stays in use. */
  readonly changed: () => Promise<void>;
}

/** Certificate and key are two files: both are complete when nothing has changed for this long. */
const settleMs = 500;
/** Polling interval, as in the daemons of 1.24, since a watch may be lost or unavailable. */
const lookMs = 60_000;
const retryMs = 5_000;

/**
 * Calls `changed` when a file was written or replaced, until the signal aborts. Watches directories, because a rename
 * replaces the file itself.
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
      log.info({ files }, 'reloaded certificate files');
    } catch (err) {
      log.error({ err, files }, 'cannot reload certificate files; keeping the old ones');
      reloadIn(retryMs);
    }
  };
  const reloadIn = (ms: number) => {
    pending?.cancel();
    if (!signal.aborted) pending = clock.setTimer(() => void reload(), ms);
  };
  const look = async () => {
    // The files may also have changed before the watch began.
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

/** Undefined if the system cannot create a watch; polling continues. */
function watchOrWarn(directory: string, log: Logger, changed: (name: string | null) => void): FSWatcher | undefined {
  const failed = (err: unknown) =>
    log.warn({ err, directory }, 'cannot watch the certificate directory; polling it instead');
  try {
    const watcher = watch(directory, { persistent: false }, (_event, name) => changed(name));
    watcher.on('error', failed);
    return watcher;
  } catch (err) {
    failed(err);
    return undefined;
  }
}

/** A text that changes when a file is written, replaced or removed. Never rejects. */
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
