/** What containers say about their end, in the file that they are given for that, or in the last lines of their log. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { readTail } from '#nodeagent/logs/tail.js';
import { readTerminationMessage, terminationMessageFile } from '#nodeagent/pods/container-files.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

/** What of a log stands in for a message that is not there. */
const logLimit = { lines: 80, bytes: 2048 };

/** Adds the messages of containers that have exited since. `known`: container id → message. */
export async function collectTerminationMessages(
  context: PodContext,
  pod: Pod,
  runtime: PodRuntime,
  known: Map<string, string>,
): Promise<void> {
  for (const container of runtime.containers) {
    if (container.state !== 'CONTAINER_EXITED' || known.has(container.id)) continue;
    const { name, attempt } = container.metadata;
    let message = '';
    if (context.directories !== undefined) {
      message = await readTerminationMessage(terminationMessageFile(context.directories, runtime.uid, name, attempt));
    }
    const spec = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
    const fallback = spec?.terminationMessagePolicy === 'FallbackToLogsOnError';
    if (message === '' && fallback && container.exitCode !== 0) {
      message = await readTail(context.logFiles, container.logPath, logLimit);
    }
    known.set(container.id, message);
  }
}
