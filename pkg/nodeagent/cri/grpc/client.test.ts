import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { type Containerd, startContainerd } from '#containerd/containerd.js';
import { cleanContainerd, removeAllSandboxes } from '#containerd/teardown.js';
import { GrpcCRI, socketOf } from '#nodeagent/cri/grpc/client.js';
import { buildImageArchive, type ClusterImages, clusterImages } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { runtimePrerequisites } from '#nodeagent/node/prerequisites.js';
import { criContract } from '#nodeagent/testing/cri-contract.js';
import { MissingFields } from '#nodeagent/testing/message-inspector.js';

t.test('endpoints must be unix sockets', async (t) => {
  t.equal(socketOf('unix:///run/a.sock'), '/run/a.sock');
  t.equal(socketOf('/run/a.sock'), '/run/a.sock');
  t.throws(() => socketOf('tcp://localhost:1'), RangeError);
});

t.test('a dead socket yields Unavailable', async (t) => {
  const cri = new GrpcCRI({ endpoint: '/nonexistent/cri.sock', clock: realClock, timeoutMs: 2000 });
  t.teardown(() => cri.close());
  await t.rejects(cri.version(), { code: 'Unavailable' });
});

t.test('the trace context is sent to the runtime', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'na-'));
  const socket = join(dir, 'cri.sock');
  const traceparents: unknown[] = [];
  const server = new Server();
  const same = (bytes: Buffer) => bytes;
  const codecs = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const method = { path: '/runtime.v1.RuntimeService/Version', requestStream: false, responseStream: false, ...codecs };
  server.addService(
    { Version: method },
    {
      Version({ metadata }: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
        traceparents.push(metadata.get('traceparent'));
        answer(null, Buffer.alloc(0));
      },
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const parents = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined];
  let calls = 0;
  const cri = new GrpcCRI({ endpoint: socket, clock: realClock, traceparent: () => parents[calls++] });
  t.teardown(async () => {
    await cri.close();
    server.forceShutdown();
    await rm(dir, { recursive: true });
  });
  for (const _ of parents) await cri.version();
  t.same(traceparents, [[parents[0]], []]);
});

const { root, missing } = await runtimePrerequisites();
const skip = !root || missing.length > 0 ? 'needs root and containerd' : false;

t.test('containerd', { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'na-'));
  let containerd: Containerd | undefined;
  let images: ClusterImages;
  const cri = async () => {
    const { endpoint } = containerd as Containerd;
    return new GrpcCRI({ endpoint, clock: realClock, inspector: missingFields });
  };
  const missingFields = new MissingFields();
  t.teardown(async () => {
    const client = await cri();
    await removeAllSandboxes(client);
    await client.close();
    await containerd?.stop();
    await cleanContainerd(dir);
    await rm(dir, { recursive: true });
  });
  containerd = await startContainerd({ dir, podCIDR: '10.209.77.0/24', sandboxImage: clusterImages('test').pause });
  images = await buildImageArchive({ file: join(dir, 'images.tar'), product: 'test' });
  await loadImageArchive(join(dir, 'images.tar'), containerd.socket);

  await t.test('contract', async (t) => {
    criContract(t, async () => {
      const client = await cri();
      t.teardown(() => client.close());
      return { cri: client, image: images.busybox, logFiles: new DiskLogFiles(), logDirectory: join(dir, 'logs') };
    });
  });

  await t.test('a pull from an unresponsive registry can be cancelled', async (t) => {
    const client = await cri();
    t.teardown(() => client.close());
    const stop = new AbortController();
    const registry = createServer((socket) => {
      // The runtime may reset the connection.
      socket.on('error', () => undefined);
      stop.abort();
    });
    registry.listen(0, '127.0.0.1');
    await once(registry, 'listening');
    t.teardown(() => registry.close());
    const { port } = registry.address() as AddressInfo;
    const pull = client.pullImage(`127.0.0.1:${port}/test/app:1`, { signal: stop.signal });
    await t.rejects(pull, { code: 'Cancelled' });
    await t.rejects(client.pullImage('any', { signal: stop.signal }), { code: 'Cancelled' });
  });

  t.test('the proto definitions contain every field that is sent or received', async (t) => {
    const client = await cri();
    t.teardown(() => client.close());
    await client.listContainerStats();
    await client.imageFsInfo();
    t.same([...missingFields.paths], []);
  });
});
