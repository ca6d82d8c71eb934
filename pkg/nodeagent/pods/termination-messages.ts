/** Termination messages of containers, from their message file or the last lines of their log. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, pauseClock } from '#apimachinery/clock.js';
import { readLastBytes } from '#nodeagent/files/regular-file.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import { readTail } from '#nodeagent/logs/tail.js';
import { terminationMessageFile } from '#nodeagent/pods/container-files.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';

/** Limit of a message file; its last bytes count, as in release 1.24. */
const maxFileBytes = 4096;
/** Limit of log text that replaces an absent message. */
const logLimit = { lines: 80, bytes: 2048 };

/** Delay between reads of a log, and how often to reread while it changes or is empty. */
const rereadMs = 50;
const maxRereads = 5;

export interface TerminationMessagesOptions {
  readonly clock: Clock;
  readonly logFiles: LogFiles;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
}

export class TerminationMessages {
  readonly #options: TerminationMessagesOptions;

  constructor(options: TerminationMessagesOptions) {
    this.#options = options;
  }

  /** Adds the messages of newly exited containers to `messages`: container ID → message. Never rejects. */
  async collect(pod: Pod, runtime: PodRuntime, messages: Map<string, string>): Promise<void> {
    const ended = runtime.containers.filter(({ id, state }) => state === 'CONTAINER_EXITED' && !messages.has(id));
    const collect = async (container: RuntimeContainer) => {
      const own = await this.#ownMessage(pod, runtime.uid, container);
      // The runtime's message comes first.
      messages.set(container.id, [container.message, own].filter((text) => text !== '').join(': '));
    };
    await Promise.all(ended.map(collect));
  }

  async #ownMessage(pod: Pod, uid: string, container: RuntimeContainer): Promise<string> {
    const { directories } = this.#options;
    const { name, attempt } = container.metadata;
    if (directories !== undefined) {
      const path = terminationMessageFile(directories, uid, name, attempt);
      try {
        const message = (await readLastBytes(path, maxFileBytes)) ?? Buffer.alloc(0);
        if (message.length > 0) return message.toString();
      } catch (error) {
        return `Error on reading termination log ${path}: ${(error as Error).message}`;
      }
    }
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    const spec = [...containers, ...initContainers, ...ephemeralContainers].find((c) => c.name === name);
    const fallback = spec?.terminationMessagePolicy === 'FallbackToLogsOnError';
    if (!fallback || container.exitCode === 0 || container.reason === 'ContainerCannotRun') return '';
    try {
      return await this.#completeTail(container.logPath);
    } catch (error) {
      return `Error on reading termination message from logs: ${(error as Error).message}`;
    }
  }

  /** The runtime may still be writing output after the exit event, so read until two reads agree. */
  async #completeTail(path: string): Promise<string> {
    const { logFiles, clock } = this.#options;
    let text = await readTail(logFiles, path, logLimit);
    for (let reread = 0; reread < maxRereads; reread++) {
      await pauseClock(clock).sleep(rereadMs);
      const nextText = await readTail(logFiles, path, logLimit);
      if (nextText === text && text !== '') break;
      text = nextText;
    }
    return text;
  }
}
