import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t from 'tap';
import { ReadingSocket } from '#nodeagent/cri/grpc/reading-socket.js';

t.test('the last words of a peer that resets the connection are read, also after writes that failed', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  for (const writes of [1, 2, 3]) {
    const socket = new ReadingSocket();
    let got = '';
    socket.on('data', (part: Buffer) => {
      got += part.toString();
    });
    socket.on('error', () => undefined);
    socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    if (socket.connecting) await once(socket, 'connect');
    socket.setNoDelay(true);
    // All within one turn, so that nothing is read in between.
    peer.write('last words');
    peer.resetAndDestroy();
    for (let i = 0; i < writes; i++) socket.write('more');
    if (writes === 3) {
      socket.cork();
      for (const part of ['and', 'more']) socket.write(part);
      socket.uncork();
    }
    await once(socket, 'close');
    t.equal(got, 'last words', `${writes} writes`);
  }
});
