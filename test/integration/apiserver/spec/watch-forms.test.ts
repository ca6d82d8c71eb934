/** Watches in every form: WebSocket, HTTP/2, Protobuf frames, Tables, metadata, deprecated paths. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import t, { type Test } from 'tap';
import { type RawData, WebSocket } from 'ws';
import { decodeProtobuf } from '#apimachinery/codec/protobuf/protobuf.js';
import { encodeWatchFrame, WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  dialect,
  forgetHistory,
  type SpecServer,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

interface Named {
  readonly metadata: { readonly name: string };
}

/** Resolves with the first messages of a socket; `binary` tells their types. */
async function messages(socket: WebSocket, count: number): Promise<{ data: Buffer; binary: boolean }[]> {
  const seen: { data: Buffer; binary: boolean }[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (data: RawData, binary: boolean) => {
      seen.push({ data: Buffer.from(data as Buffer), binary });
      if (seen.length === count) resolve();
    });
  });
  return seen;
}

function open(t: Test, { client }: SpecServer, path: string, options: { accept?: string; protocols?: string[] } = {}) {
  const { accept, protocols = [] } = options;
  const socket = new WebSocket(`wss://127.0.0.1:${client.port}${path}`, protocols, {
    rejectUnauthorized: false,
    ...(accept === undefined ? {} : { headers: { accept } }),
  });
  t.teardown(() => socket.terminate());
  return socket;
}

// Many of these wait until a watch times out.
t.setTimeout(120_000);

t.test('forms of watches', withEtcd, async (t) => {
  const spec = await startSpec(t);
  const { server, client } = spec;
  const path = configMaps('forms');
  for (const name of ['a', 'b']) await client.make(path, configMap(name, { big: 'x'.repeat(40_000) }));

  await covers(t, ['4.5 websocket'], 'text messages for JSON', async (t) => {
    const socket = open(t, spec, `${path}?watch=1`);
    const [first, second] = await messages(socket, 2);
    for (const [i, message] of [first, second].entries()) {
      t.equal(message?.binary, false);
      t.match(JSON.parse(String(message?.data)), {
        type: 'ADDED',
        object: { metadata: { name: i === 0 ? 'a' : 'b' } },
      });
    }
    const next = messages(socket, 1);
    await client.make(path, configMap('ws'));
    t.match(JSON.parse(String((await next)[0]?.data)), { type: 'ADDED', object: { metadata: { name: 'ws' } } });
    await client.delete(`${path}/ws`);
  });

  await covers(t, ['4.5 websocket'], 'binary messages for Protobuf', async (t) => {
    const socket = open(t, spec, `${path}?watch=1`, { accept: dialect.protobufMediaType });
    const names = (await messages(socket, 2)).map(({ data, binary }) => {
      t.ok(binary);
      // A message is a frame without its length.
      const length = Buffer.alloc(4);
      length.writeUInt32BE(data.length);
      const [frame] = new WatchFrameReader().push(Buffer.concat([length, data]));
      t.equal(frame?.type, 'ADDED');
      return (decodeProtobuf(server.scheme, frame?.object ?? Buffer.alloc(0)).object as unknown as Named).metadata.name;
    });
    t.same(names, ['a', 'b']);
  });

  await covers(t, ['4.5 websocket'], 'subprotocols, ends and refusals', async (t) => {
    const socket = open(t, spec, `${path}?watch=1&timeoutSeconds=1`, { protocols: ['base64.binary.k8s.io'] });
    await once(socket, 'open');
    t.equal(socket.protocol, 'base64.binary.k8s.io', 'the requested one');
    await once(socket, 'close');
    const token = `base64url.bearer.authorization.${dialect.apiDomain}.c2VjcmV0`;
    const browser = open(t, spec, `${path}?watch=1`, { protocols: [token, 'base64.binary.k8s.io'] });
    await once(browser, 'open');
    t.equal(browser.protocol, 'base64.binary.k8s.io', 'a token is no protocol');
    const refused = open(t, spec, `${path}?watch=1&labelSelector=a%20b`);
    refused.on('error', () => undefined);
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
    t.equal(response.statusCode, 400);
  });

  await covers(t, ['4.5 http2'], 'frames of an HTTP/2 stream', async (t) => {
    const session = connect(`https://127.0.0.1:${client.port}`, { rejectUnauthorized: false });
    t.teardown(() => session.destroy());
    const stream = session.request({ ':path': `${path}?watch=1&timeoutSeconds=1` });
    const [headers] = (await once(stream, 'response')) as [Record<string, string | number>];
    t.match(headers, { ':status': 200, 'content-type': 'application/json' });
    let text = '';
    for await (const part of stream.setEncoding('utf8')) text += part;
    const names = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).object.metadata.name);
    t.same(names, ['a', 'b']);
  });

  await covers(t, ['4.5 protobuf'], 'frames after their length', async (t) => {
    const accept = dialect.protobufMediaType;
    const { headers, bytes } = await client.get(`${path}?watch=1&timeoutSeconds=1`, { accept });
    t.equal(headers['content-type'], `${accept};stream=watch`);
    const frames = new WatchFrameReader().push(bytes);
    const decoded = frames.map(({ type, object }) => ({ type, ...decodeProtobuf(server.scheme, object) }));
    t.match(
      decoded.map(({ type, object }) => [type, (object as unknown as Named).metadata.name]),
      [
        ['ADDED', 'a'],
        ['ADDED', 'b'],
      ],
    );
    const [first] = frames;
    t.same(first && encodeWatchFrame(first.type, first.object), bytes.subarray(0, 4 + bytes.readUInt32BE(0)));
    await forgetHistory(spec.etcd);
    const { client: late } = await serveOver(t, spec.etcd);
    const error = await late.get(`${path}?watch=1&resourceVersion=1`, { accept });
    const [gone] = new WatchFrameReader().push(error.bytes);
    t.equal(gone?.type, 'ERROR');
    t.match(decodeProtobuf(server.scheme, gone?.object ?? Buffer.alloc(0)).object, { code: 410, reason: 'Expired' });
  });

  await covers(t, ['4.5 tables'], 'a Table of one row for each event', async (t) => {
    const media = `application/json;as=Table;g=${dialect.groupName('meta')};v=v1`;
    const { text } = await client.get(`${path}?watch=1&timeoutSeconds=1`, { accept: media });
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.match(events[0], {
      type: 'ADDED',
      object: { kind: 'Table', columnDefinitions: [{ name: 'Name' }], rows: [{ cells: ['a'] }] },
    });
    t.match(events[1].object, { columnDefinitions: null, rows: [{ cells: ['b'] }] });
    const partial = `application/json;as=PartialObjectMetadata;g=${dialect.groupName('meta')};v=v1`;
    const metadata = await client.get(`${path}?watch=1&timeoutSeconds=1`, { accept: partial });
    const [first] = metadata.text.split('\n').map((line) => line && JSON.parse(line));
    t.match(first, { type: 'ADDED', object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } } });
    t.equal(first.object.data, undefined);
  });

  await covers(t, ['4.5 old paths'], 'below /watch/', async (t) => {
    const rows: [string, string[]][] = [
      ['/api/v1/watch/namespaces/forms/configmaps', ['a', 'b']],
      ['/api/v1/watch/configmaps', ['a', 'b']],
      ['/api/v1/watch/namespaces/forms/configmaps/b', ['b']],
      ['/api/v1/watch/nodes', []],
      ['/apis/apps/v1/watch/namespaces/forms/deployments/none', []],
    ];
    for (const [url, expected] of rows) {
      const { text } = await client.get(`${url}?timeoutSeconds=1`);
      const lines = text.split('\n').filter((line) => line !== '');
      t.same(
        lines.map((line) => JSON.parse(line).object.metadata.name),
        expected,
        url,
      );
    }
    const method = 'the server does not allow this method on the requested resource';
    for (const verb of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { json } = await client.ask(verb, '/api/v1/watch/namespaces/forms/configmaps/b', { body: {} });
      t.match(json, { code: 405, reason: 'MethodNotAllowed', message: method }, verb);
    }
    t.equal((await client.get(`${path}/b`)).status, 200, 'nothing was deleted');
    // The right to watch suffices for these.
    const parts = ['pods/p/log', 'pods/p/exec?command=sh', 'pods/p/proxy', 'services/s/proxy/x', 'pods/p/status'];
    for (const part of parts) {
      const url = `/api/v1/watch/namespaces/forms/${part}`;
      t.match(
        (await client.get(url)).json,
        { code: 404, message: 'the server could not find the requested resource' },
        part,
      );
      const socket = open(t, spec, url, { protocols: ['v4.channel.k8s.io'] });
      socket.on('error', () => undefined);
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
      t.equal(response.statusCode, 404, `${part} over WebSocket`);
    }
  });
});
