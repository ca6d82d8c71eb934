import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import { TerminationMessages } from '#nodeagent/pods/termination-messages.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

const pod: Pod = {
  metadata: { name: 'p', uid: 'u' },
  spec: { containers: [{ name: 'main', image: 'app', terminationMessagePolicy: 'FallbackToLogsOnError' }] },
};

function ended(exitCode: number): PodRuntime {
  const container: Partial<RuntimeContainer> = {
    ...{ id: 'c', metadata: { name: 'main', attempt: 0 }, state: 'CONTAINER_EXITED', exitCode },
    ...{ reason: 'Error', message: '', logPath: '/log' },
  };
  return { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers: [container as RuntimeContainer] };
}

/** A log that grows by one line at each of these instants (ms). */
function growingLog(clock: VirtualClock, instants: readonly number[]): LogFiles {
  const began = clock.monotonic();
  const content = () =>
    Buffer.from(
      instants
        .filter((instant) => clock.monotonic() - began >= instant)
        .map((instant) => `2022-05-03T00:00:00.000000000Z stderr F at ${instant}\n`)
        .join(''),
    );
  const open = async () => ({
    identity: 'log',
    size: async () => content().length,
    read: async (offset: number, length: number) => content().subarray(offset, offset + length),
    close: async () => undefined,
  });
  return { open } as unknown as LogFiles;
}

async function messageOf(instants: readonly number[], exitCode = 1): Promise<string | undefined> {
  const clock = new VirtualClock();
  const cached = new Map<string, string>();
  const messages = new TerminationMessages({ clock, logFiles: growingLog(clock, instants) });
  let isDone = false;
  const collecting = messages.collect(pod, ended(exitCode), cached).then(() => {
    isDone = true;
  });
  await clock.advanceUntil(() => isDone);
  await collecting;
  return cached.get('c');
}

t.test('the log is used as the message once it is complete', async (t) => {
  t.equal(await messageOf([0]), 'at 0\n');
  t.equal(await messageOf([120]), 'at 120\n');
  t.equal(await messageOf([0, 40, 80, 120]), 'at 0\nat 40\nat 80\nat 120\n');
  t.equal(await messageOf([]), '', 'a container that said nothing is not waited for long');
  t.equal(await messageOf([0], 0), '', 'a successful container has no message');
});
