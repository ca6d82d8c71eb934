/** A daemon in its own process: signals and exit codes as its parent sees them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t, { type Test } from 'tap';

/** A program whose daemon listens on a port, and runs `close` when it is stopped. */
function source(close: string): string {
  const run = new URL('./run.js', import.meta.url).href;
  const generic = new URL('./options/groups/generic.js', import.meta.url).href;
  return `
    import { createServer } from 'node:net';
    import { run } from ${JSON.stringify(run)};
    import { genericOptions } from ${JSON.stringify(generic)};
    process.exitCode = await run(
      {
        name: () => 'tester',
        description: 'Tests.',
        options: () => genericOptions,
        create: () => {
          const server = createServer();
          return {
            name: 'tester',
            ready: () => Promise.resolve(),
            async start(signal) {
              await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
              console.log('ready');
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
            },
            close: async () => { ${close} },
          };
        },
      },
      process,
    );`;
}

async function start(t: Test, close: string, ...args: string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source(close), '--', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, exited, stderr: () => stderr };
}

t.test('SIGTERM ends the work, exit code 0', async (t) => {
  const { child, exited, stderr } = await start(t, 'server.close();');
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  t.same(await exited, [0, null]);
  t.match(stderr(), /"received a signal; shutting down"[\s\S]*"stopped" code=0/);
});

t.test('a second signal does not wait', async (t) => {
  const { child, exited, stderr } = await start(t, 'console.log("closing"); await new Promise(() => {});');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  t.same(await exited, [1, null]);
  t.match(stderr(), 'received a second signal; exiting immediately');
});
