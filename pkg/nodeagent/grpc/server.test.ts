/** The server with the client of this room, and with requests as Go's client sends them. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { Http2Session } from '#http/http2/client-session.js';
import { encodeHeaders, type HeaderField } from '#http/http2/hpack.js';
import { GrpcChannel } from '#nodeagent/grpc/channel.js';
import { GrpcServer } from '#nodeagent/grpc/server.js';
import { devicePluginV1beta1 } from '#nodeagent/protocols/device-plugin-v1beta1.gen.js';

const root = protobuf.Root.fromJSON(devicePluginV1beta1);

async function setUp(t: Test) {
  const dir = await mkdtemp(join(tmpdir(), 'gs-'));
  const socket = join(dir, 'a.sock');
  const cancelled: string[] = [];
  const server = new GrpcServer({
    ...{ socket, root, clock: realClock },
    services: [
      {
        name: 'v1beta1.DevicePlugin',
        unary: {
          Allocate: ({ containerRequests }) => ({
            containerResponses: [{ envs: { COUNT: String((containerRequests as unknown[]).length) } }],
          }),
          PreStartContainer: () => {
            throw new Error('100 % “no”\n');
          },
        },
        streams: {
          async *ListAndWatch(_, signal) {
            for (let i = 0; i < 3; i++) yield { devices: [{ ID: `${i}`.repeat(200_000), health: 'Healthy' }] };
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
            cancelled.push('ListAndWatch');
          },
        },
      },
    ],
  });
  await server.start();
  const channel = new GrpcChannel({ socket, root, timeoutMs: 10_000, strictText: true });
  t.teardown(async () => {
    channel.close();
    await server.close();
    await rm(dir, { recursive: true });
  });
  return { socket, channel, cancelled, server };
}

t.test('calls and streams', async (t) => {
  const { channel, cancelled } = await setUp(t);
  const request = { containerRequests: [{ devicesIDs: ['a'] }, { devicesIDs: [] }] };
  t.same(
    await channel.call('v1beta1.DevicePlugin/Allocate', request),
    { containerResponses: [{ envs: { COUNT: '2' }, annotations: {}, devices: [], mounts: [] }] },
    'a response',
  );
  const error = { message: 'rpc error: code = Unknown desc = 100 % “no”\n' };
  await t.rejects(channel.call('v1beta1.DevicePlugin/PreStartContainer', {}), error, 'an error');
  const unknown = { message: /^rpc error: code = Unimplemented/ };
  await t.rejects(channel.call('v1beta1.DevicePlugin/GetDevicePluginOptions', {}), unknown, 'an unknown method');
  const big = { containerRequests: [{ devicesIDs: ['x'.repeat(300_000)] }] };
  await t.rejects(channel.call('v1beta1.DevicePlugin/Allocate', big), /code = ResourceExhausted/, 'too large');
  const lengths: number[] = [];
  const cancel = channel.stream(
    'v1beta1.DevicePlugin/ListAndWatch',
    {},
    {
      onMessage({ devices }) {
        lengths.push(String((devices as { ID: string }[])[0]?.ID).length);
      },
      onEnd: () => undefined,
    },
  );
  while (lengths.length < 3) await realClock.sleep(5);
  t.same(lengths, [200_000, 200_000, 200_000], 'messages that are larger than the window');
  cancel();
  while (cancelled.length === 0) await realClock.sleep(5);
  t.pass('the handler learns of the end');
});

t.test("Go's client names the path of the socket as authority", async (t) => {
  const { socket } = await setUp(t);
  const call = async (path: string, body: Buffer, more: readonly HeaderField[] = []) => {
    const connection = connect(socket);
    await once(connection, 'connect');
    return new Promise<string>((resolve) => {
      const fields: HeaderField[] = [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', path],
        [':authority', socket],
        ...(more.length === 0 ? ([['content-type', 'application/grpc']] as const) : more),
        ['te', 'trailers'],
      ];
      const answer: HeaderField[] = [];
      const session = new Http2Session({
        socket: connection,
        ...{ streamWindowBytes: 65_535, sessionWindowBytes: 131_070 },
        handler: { ready: () => undefined, draining: () => undefined, closed: () => undefined },
      });
      session.open(encodeHeaders(fields), body, true, {
        headers: (received) => answer.push(...received),
        data: () => undefined,
        ended() {
          connection.destroy();
          const of = (name: string) => answer.find(([each]) => each === name)?.[1] ?? '';
          resolve([of(':status'), of('grpc-status'), of('grpc-message')].join(' ').trim());
        },
      });
    });
  };
  const empty = Buffer.alloc(5);
  const allocate = '/v1beta1.DevicePlugin/Allocate';
  t.equal(await call(allocate, empty), '200 0', 'it is served');
  const rows: [name: string, answer: string, path: string, body: Buffer, more?: HeaderField[]][] = [
    ['an unknown method', '200 12 unknown service or method', '/v1beta1.DevicePlugin/X', empty],
    ['no message', '200 13 the request is not one message', allocate, Buffer.alloc(0)],
    ['half a message', '200 13 the request is not one message', allocate, Buffer.from([0, 0, 0, 0, 9, 1])],
    ['two messages', '200 13 the request is not one message', allocate, Buffer.alloc(10)],
    ['a compressed message', '200 12 requests cannot be compressed', allocate, Buffer.from([1, 0, 0, 0, 0])],
    ['nonsense', '200 13 the request cannot be decoded', allocate, Buffer.from([0, 0, 0, 0, 2, 0x0a, 0xff])],
    ['something else', '415', allocate, empty, [['content-type', 'text/html']]],
    ['long headers', '431', allocate, empty, [['x', 'y'.repeat(20_000)]]],
  ];
  for (const [name, answer, path, body, more] of rows) t.equal(await call(path, body, more), answer, name);
});
