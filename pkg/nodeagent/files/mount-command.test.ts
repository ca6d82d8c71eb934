import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import t from 'tap';
import { MountInterruptedError, runCommand, runMount } from '#nodeagent/files/mount-command.js';

t.test('an abandoned command is killed together with its children', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = new AbortController();
  // The helper holds a connection that closes when the helper ends.
  const helper = `require('net').connect(${port}, '127.0.0.1')`;
  const running = runCommand('sh', ['-c', `"${process.execPath}" -e "${helper}" & wait`], stop.signal);
  const [connection] = (await once(server, 'connection')) as [Socket];
  const ended = new Promise<void>((resolve) => connection.on('error', () => undefined).on('close', () => resolve()));
  connection.resume();
  stop.abort();
  await t.rejects(running, MountInterruptedError);
  await ended;
  await t.rejects(runCommand('sh', ['-c', 'true'], stop.signal), MountInterruptedError);
});

t.test("a command's output is kept up to a limit", async (t) => {
  const { signal } = new AbortController();
  t.same(await runCommand('sh', ['-c', 'echo out; echo err >&2; exit 3'], signal), { status: 3, output: 'out\nerr\n' });
  const { output } = await runCommand('sh', ['-c', 'yes | head -c 1000000'], signal);
  t.equal(output.length, 4096);
  await t.rejects(runCommand('/nowhere/command', [], signal), { code: 'ENOENT' });
  const mount = { type: 'nosuch', source: 'a:/b', target: '/nowhere', options: ['ro', 'soft'] };
  await t.rejects(runMount(mount, signal), {
    message:
      /^mount failed: exit status \d+\nMounting command: mount\nMounting arguments: -t nosuch -o ro,soft a:\/b \/nowhere\nOutput: mount: /,
  });
  await t.rejects(runMount({ ...mount, mounter: 'false' }, signal), {
    message:
      'mount failed: exit status 1\nMounting command: false\nMounting arguments: mount -t nosuch -o ro,soft a:/b /nowhere\nOutput: ',
  });
});
