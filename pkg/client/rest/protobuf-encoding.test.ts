import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { encodeWatchFrame } from '#apimachinery/codec/watch-event-frames.js';
import { kubernetesDialect as dialect, orchDialect } from '#apimachinery/dialect.js';
import { isExpired, isNotFound } from '#apimachinery/errors/status.js';
import {
  type InProcessRequest,
  type InProcessResponse,
  InProcessTransport,
} from '#client/rest/in-process-transport.js';
import { JsonEncoding } from '#client/rest/object-encoding.js';
import { encodingFor, ProtobufEncoding } from '#client/rest/protobuf-encoding.js';
import { RestClient } from '#client/rest/rest-client.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { isTransportError } from '#http/client/transport-error.js';

const codec = new ObjectCodec(schemeFor(dialect));
const mediaType = dialect.protobufMediaType;

function encoded(apiVersion: string, kind: string, object: object): Buffer {
  const info = codec.scheme.kind(apiVersion, kind);
  if (info === undefined) throw new Error(kind);
  return codec.encode({ ...object }, info, 'protobuf');
}

function scripted(answers: { status?: number; body: Buffer | AsyncIterable<Buffer>; type?: string }[]) {
  const received: InProcessRequest[] = [];
  const handler = (request: InProcessRequest): Promise<InProcessResponse> => {
    received.push(request);
    const { status = 200, body = Buffer.alloc(0), type = mediaType } = answers.shift() ?? { body: Buffer.alloc(0) };
    return Promise.resolve({ status, headers: { 'content-type': type }, body });
  };
  const client = new RestClient({
    transport: new InProcessTransport({ handler }),
    dialect,
    clock: new VirtualClock(),
    encoding: encodingFor(mediaType, dialect),
  });
  return { client, received };
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

const pod: Pod = { metadata: { name: 'a', namespace: 'n' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const namespace = 'n';

t.test('reads objects, lists and failures', async (t) => {
  const notFound = { status: 'Failure', reason: 'NotFound', message: 'no', code: 404, details: { name: 'a' } };
  const { client, received } = scripted([
    { body: encoded('v1', 'Pod', { ...pod, metadata: { name: 'a', namespace: 'n', uid: 'u' } }) },
    { body: encoded('v1', 'PodList', { metadata: { resourceVersion: '7' }, items: [pod, pod] }) },
    { status: 404, body: encoded('v1', 'Status', notFound) },
    { status: 404, body: Buffer.from(JSON.stringify({ kind: 'Status', ...notFound })), type: 'application/json' },
    { status: 502, body: Buffer.from('bad gateway'), type: 'text/plain' },
    { body: Buffer.from(JSON.stringify(pod)), type: 'application/json' },
    { body: Buffer.from('k8s\0garbage') },
  ]);
  const resource = client.resource(pods);
  // JSON would omit the null.
  const status = null as unknown as NonNullable<Pod['status']>;
  t.match(await resource.create({ ...pod, status }), { kind: 'Pod', metadata: { uid: 'u' }, spec: pod.spec });
  t.match(received[0]?.headers, { 'content-type': mediaType, accept: `${mediaType},application/json` });
  t.match(codec.decode(received[0]?.body ?? Buffer.alloc(0), { encoding: 'protobuf' }).object, { kind: 'Pod', ...pod });
  const list = await resource.list();
  t.match(list, { metadata: { resourceVersion: '7' }, items: [{ kind: 'Pod', apiVersion: 'v1' }, { kind: 'Pod' }] });
  t.ok(isNotFound(await rejection(resource.get('a', { namespace }))));
  t.ok(isNotFound(await rejection(resource.get('a', { namespace }))));
  t.match(await rejection(resource.get('a', { namespace })), { code: 502, message: 'bad gateway' });
  t.match(await resource.get('a', { namespace }), pod, 'a server without Protobuf');
  t.ok(isTransportError(await rejection(resource.get('a', { namespace })), 'Protocol'));
});

t.test('kinds outside the scheme are sent as JSON', async (t) => {
  const { client, received } = scripted([{ body: Buffer.from('{"metadata":{}}'), type: 'application/json' }]);
  await client.resource({ ...pods, group: 'apps', kind: 'Own', resource: 'owns' }).create(pod);
  t.match(received[0]?.headers, { 'content-type': 'application/json', accept: 'application/json' });
  t.match(JSON.parse(String(received[0]?.body)), { kind: 'Own', apiVersion: 'apps/v1' });
});

t.test('patches and other requests are JSON', async (t) => {
  const { client, received } = scripted([
    { body: encoded('v1', 'Pod', pod) },
    { body: Buffer.from('{"major":"1"}'), type: 'application/json' },
  ]);
  await client.resource(pods).patch('a', { x: 1 }, { namespace, type: 'merge' });
  t.match(received[0]?.headers, { 'content-type': 'application/merge-patch+json', accept: /protobuf/ });
  t.match(await client.request('GET', '/version'), { major: '1' });
  t.equal(received[1]?.headers['accept'], 'application/json');
});

t.test('reads watches independent of chunks', async (t) => {
  const frame = (type: string, rv: string) =>
    encodeWatchFrame(type, encoded('v1', 'Pod', { metadata: { name: 'a', resourceVersion: rv } }));
  const gone = encoded('v1', 'Status', { code: 410, reason: 'Expired', message: 'too old' });
  const bytes = Buffer.concat([frame('ADDED', '1'), frame('BOOKMARK', '2'), encodeWatchFrame('ERROR', gone)]);
  for (const size of [1, 7, bytes.length]) {
    const pieces = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const { client } = scripted([{ body: pieces(), type: `${mediaType};stream=watch` }]);
    const received: string[] = [];
    const failure = await rejection(
      (async () => {
        for await (const { type, object } of client.resource(pods).watch()) {
          received.push(`${type} ${object.metadata.resourceVersion} ${object.kind}`);
        }
      })(),
    );
    t.same(received, ['ADDED 1 Pod', 'BOOKMARK 2 Pod']);
    t.ok(isExpired(failure));
  }
});

t.test('accepts only supported content types', async (t) => {
  for (const json of ['', 'application/json']) t.type(encodingFor(json, dialect), JsonEncoding);
  t.type(encodingFor(mediaType, dialect), ProtobufEncoding);
  t.throws(() => encodingFor('application/yaml', dialect), /"application\/yaml" is not supported/);
  t.throws(() => encodingFor(mediaType, orchDialect), /not supported/);
});

const podNames = { apiVersion: 'v1', kind: 'Pod' };

t.test('objects of lists and watches share equal parts', async (t) => {
  const managedFields = [{ manager: 'm', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }];
  const named = (name: string) => ({ ...pod, metadata: { name, namespace, managedFields } });
  const items = ['a', 'b', 'c', 'd'].map(named);
  const body = encoded('v1', 'PodList', { metadata: { resourceVersion: '9' }, items });
  const lists = async (encoding: ProtobufEncoding) => {
    const chunks = (async function* () {
      await Promise.resolve();
      yield body;
    })();
    return (await encoding.list(mediaType, chunks, { names: podNames, take: (item) => item })) as { items: Pod[] };
  };
  const whole = await lists(new ProtobufEncoding(schemeFor(dialect)));
  t.match(whole, { items });
  const [, , third, fourth] = whole.items;
  t.equal(third?.spec.containers[0], fourth?.spec.containers[0], 'the container is shared');
  t.ok(Object.isFrozen(fourth?.spec.containers[0]));
  t.notOk(Object.isFrozen(fourth?.metadata));

  const encoding = new ProtobufEncoding(schemeFor(dialect), { withoutManagers: true });
  const plain = items.map(({ metadata: { managedFields: _, ...metadata }, ...rest }) => ({ ...rest, metadata }));
  t.match(await lists(encoding), { items: plain });
  t.equal((await lists(encoding)).items[0]?.metadata.managedFields, undefined);
  const answer = () => encoding.decode(mediaType, encoded('v1', 'Pod', named('a'))) as Pod;
  for (let n = 0; n < 3; n++) t.notOk(Object.isFrozen(answer().spec.containers[0]), 'responses may be modified');
  t.equal(answer().metadata.managedFields, undefined);
});
